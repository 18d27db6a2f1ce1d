"""Devices and their requests, whose fields v1beta1 groups differently (reference KIND-94).

Stored are the kinds of v1: a request has the fields of its one alternative in `exactly`, a device has its own fields.
In v1beta1 the request has them itself, and the device has them in `basic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.convert import Conversions, Function
from orchtw.wire.objects import Object

Change = Callable[[Object], Object]
_GROUP: Final = "resource.orch.io"
OF_REQUEST: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""Fields of a request for exactly one alternative, in the order of v1."""
_OLD_ORDER: Final = (*OF_REQUEST[:5], "firstAvailable", *OF_REQUEST[5:])


def _request_to_v1(request: Object) -> Object:
    exact = {key: request[key] for key in OF_REQUEST if key in request}
    rest = {key: value for key, value in request.items() if key not in exact}
    if not any(exact.values()) and exact.get("adminAccess") is None and exact.get("capacity") is None:
        return rest
    found = {"name": rest.pop("name", ""), "exactly": {"deviceClassName": "", **exact}}
    return {**found, **rest}


def _request_from_v1(request: Object) -> Object:
    fields = {"deviceClassName": "", **(request.get("exactly") or {})}
    if request.get("firstAvailable"):
        fields["firstAvailable"] = request["firstAvailable"]
    return {"name": request.get("name", ""), **{key: fields[key] for key in _OLD_ORDER if key in fields}}


def _device_to_v1(device: Object) -> Object:
    return {"name": device.get("name", ""), **(device.get("basic") or {})}


def _device_from_v1(device: Object) -> Object:
    return {"name": device.get("name", ""), "basic": {key: value for key, value in device.items() if key != "name"}}


def _requests_changed(spec: Object, change: Change) -> Object:
    devices = spec.get("devices") or {}
    if not devices.get("requests"):
        return spec
    return {**spec, "devices": {**devices, "requests": [change(each) for each in devices["requests"]]}}


def claim_to_v1(claim: Object, naming: Naming) -> Object:
    """Put the fields of requests into `exactly`."""
    return {**claim, "spec": _requests_changed(claim.get("spec") or {}, _request_to_v1)}


def claim_from_v1(claim: Object, naming: Naming) -> Object:
    """Take the fields of requests out of `exactly`."""
    return {**claim, "spec": _requests_changed(claim.get("spec") or {}, _request_from_v1)}


def template_to_v1(template: Object, naming: Naming) -> Object:
    """Put the fields of requests into `exactly`, in the spec of the claims to be made."""
    return {**template, "spec": claim_to_v1(template.get("spec") or {}, naming)}


def template_from_v1(template: Object, naming: Naming) -> Object:
    """Take the fields of requests out of `exactly`, in the spec of the claims to be made."""
    return {**template, "spec": claim_from_v1(template.get("spec") or {}, naming)}


def slice_to_v1(found: Object, naming: Naming) -> Object:
    """Take the fields of devices out of `basic`."""
    return _devices_changed(found, dict(found.get("spec") or {}), _device_to_v1)


def slice_from_v1(found: Object, naming: Naming) -> Object:
    """Put the fields of devices into `basic`; false and empty selections of nodes are absent in v1beta1."""
    spec = dict(found.get("spec") or {})
    for key in ("nodeName", "allNodes"):
        if key in spec and not spec[key]:
            del spec[key]
    return _devices_changed(found, spec, _device_from_v1)


def _devices_changed(found: Object, spec: Object, change: Change) -> Object:
    if spec.get("devices"):
        spec["devices"] = [change(each) for each in spec["devices"]]
    return {**found, "spec": spec}


def _conversions(newer: Function, older: Function) -> Conversions:
    v1beta1, others = f"{_GROUP}/v1beta1", (f"{_GROUP}/v1", f"{_GROUP}/v1beta2")
    return Conversions(
        {(v1beta1, other): newer for other in others} | {(other, v1beta1): older for other in others}
    )


CLAIM_CONVERSIONS = _conversions(claim_to_v1, claim_from_v1)
TEMPLATE_CONVERSIONS = _conversions(template_to_v1, template_from_v1)
SLICE_CONVERSIONS = _conversions(slice_to_v1, slice_from_v1)
