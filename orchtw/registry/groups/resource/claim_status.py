"""Statuses of claims: the allocated devices, their users and what drivers say of them (reference KIND-94)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.resource.selectors import LONGEST_PARAMETERS, configuration_causes
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.addresses import parse_cidr
from orchtw.values.causes import invalid, required, too_long
from orchtw.wire.objects import Object

NOT_A_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_NOT_AN_ADDRESS: Final = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
_PLACE: Final = "status.devices"


def validate_claim_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the allocation fits the claim and stays, and that its users and devices need it."""
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation, causes = status.get("allocation"), []
    if status.get("reservedFor") and allocation is None:
        causes.append(required("status.allocation", "must be set when `reservedFor` is set"))
    if before.get("allocation") is None:
        causes += _allocation_causes(allocation or {}, request_names(new.get("spec") or {}))
    elif allocation not in (None, before["allocation"]):
        causes.append(invalid("status.allocation", allocation, IMMUTABLE))
    return causes + _device_causes(status.get("devices") or (), allocation or {})


def request_names(spec: Object) -> set[str]:
    """Return the names of a claim's requests, and of their alternatives after a slash."""
    requests = (spec.get("devices") or {}).get("requests") or ()
    names = {each.get("name", "") for each in requests}
    return names | {
        f"{each.get('name', '')}/{alternative.get('name', '')}"
        for each in requests
        for alternative in each.get("firstAvailable") or ()
    }


def _allocation_causes(allocation: Object, names: set[str]) -> list[Cause]:
    """Return the causes against a new allocation: what is for requests that the claim does not have."""
    devices, place = allocation.get("devices") or {}, "status.allocation.devices"
    causes: list[Cause] = []
    for index, result in enumerate(devices.get("results") or ()):
        if (name := result.get("request", "")) not in names:
            causes.append(invalid(f"{place}.results[{index}].request", name, NOT_A_REQUEST))
    config = devices.get("config") or ()
    for index, each in enumerate(config):
        for position, name in enumerate(each.get("requests") or ()):
            if name not in names:
                causes.append(invalid(f"{place}.config[{index}].requests[{position}]", name, NOT_A_REQUEST))
    return causes[:MAX_CAUSES] + configuration_causes(config, f"{place}.config", limit=None)


def _device_causes(devices: Sequence[Object], allocation: Object) -> list[Cause]:
    """Return the causes against what drivers say: it is about allocated devices, and not too large."""
    allocated = {_identity(each) for each in (allocation.get("devices") or {}).get("results") or ()}
    causes: list[Cause] = []
    for index, device in enumerate(devices):
        if len(causes) > MAX_CAUSES:
            break
        at = f"{_PLACE}[{index}]"
        if (found := _identity(device)) not in allocated:
            shown = "/".join(part for part in found if part)
            causes.append(invalid(at, shown, "must be an allocated device in the claim"))
        data = device.get("data")
        if data is not None and len(orjson.dumps(data)) > LONGEST_PARAMETERS:
            causes.append(too_long(f"{at}.data", LONGEST_PARAMETERS))
        for position, text in enumerate((device.get("networkData") or {}).get("ips") or ()):
            if parse_cidr(text) is None:
                causes.append(invalid(f"{at}.networkData.ips[{position}]", text, _NOT_AN_ADDRESS))
    return causes


def _identity(device: Object) -> tuple[Any, ...]:
    return tuple(device.get(key) or "" for key in ("driver", "pool", "device", "shareID"))
