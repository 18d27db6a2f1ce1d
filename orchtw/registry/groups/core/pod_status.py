"""Validation of writes to the status of pods (reference KIND-39)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_annotations import annotation_update_causes
from orchtw.values import names
from orchtw.values.addresses import ip, parse_ip
from orchtw.values.causes import duplicate, forbidden, invalid
from orchtw.values.go_literals import as_text, listed, shown, struct
from orchtw.wire.objects import Object

_SHOWN_ADDRESS = struct("core.PodIP", IP=("ip", as_text))
_SHOWN_ADDRESSES = listed("core.PodIP", _SHOWN_ADDRESS)
_MOST_SHOWN = 64

_KNOWN_CONDITIONS: Final = frozenset(("PodScheduled", "Ready", "Initialized"))
_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_FAMILIES: Final = 2


def validate_pod_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate a write to /status that makes `old` the pod `new`."""
    status, before = new.get("status") or {}, old.get("status") or {}
    causes = annotation_update_causes(new, old, naming)
    causes += _conditions(status.get("conditions") or ())
    if status.get("nominatedNodeName") != before.get("nominatedNodeName"):
        node = status.get("nominatedNodeName") or ""
        errors = names.dns_subdomain(node) if node else ()
        causes += [invalid("status.nominatedNodeName", node, text) for text in errors]
    restart = (old.get("spec") or {}).get("restartPolicy", "Always")
    for key in _LISTS:
        policy = "Never" if key == "ephemeralContainerStatuses" else restart
        if policy != "Always" and (stored := before.get(key)):
            causes += _revived(status.get(key) or (), stored, f"status.{key}", policy)
    if addresses := _ips(status):
        causes += [] if _addresses(_ips(before)) else _addresses(addresses)
    return causes


def _ips(status: Object) -> list[str]:
    return [each.get("ip", "") for each in status.get("podIPs") or ()]


def _conditions(conditions: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, condition in enumerate(conditions):
        if len(causes) > MAX_CAUSES:
            break
        kind = condition.get("type", "")
        if kind not in _KNOWN_CONDITIONS:
            place = f"metadata.conditions[{index}].Type"
            causes += [invalid(place, kind, text) for text in names.qualified_name(kind)]
    return causes


def _revived(after: Sequence[Object], before: Sequence[Object], place: str, restart: str) -> list[Cause]:
    """Return the causes for containers that run again after they ended for good."""
    running = {each.get("name") for each in after if (each.get("state") or {}).get("terminated") is None}
    causes: list[Cause] = []
    for index, status in enumerate(before):
        if len(causes) > MAX_CAUSES:
            break
        terminated = (status.get("state") or {}).get("terminated")
        if terminated is None or (restart == "OnFailure" and terminated.get("exitCode")):
            continue
        if status.get("name") in running:
            text = "may not be transitioned to non-terminated state"
            causes.append(forbidden(f"{place}[{index}].state", text))
    return causes


def _addresses(addresses: list[str]) -> list[Cause]:
    """Return the causes for invalid or repeated addresses, and for two of one family."""
    place = "status.podIPs"
    causes: list[Cause] = []
    seen: set[str] = set()
    versions: set[int] = set()
    for index, address in enumerate(addresses):
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid(f"{place}[{index}]", address, text) for text in ip(address)]
        if (parsed := parse_ip(address)) is not None:
            versions.add(parsed.version)
        if address in seen:
            causes.append(duplicate(f"{place}[{index}]", shown(_SHOWN_ADDRESS, {"ip": address})))
        seen.add(address)
    if len(addresses) > _FAMILIES or (len(addresses) == _FAMILIES and len(versions) != _FAMILIES):
        given = shown(_SHOWN_ADDRESSES, [{"ip": address} for address in addresses[:_MOST_SHOWN]])
        causes.append(invalid(place, given, "may specify no more than one IP for each IP family"))
    return causes
