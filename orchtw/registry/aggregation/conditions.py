"""The condition Available of APIServices: its reasons and texts, and what they follow from (reference AGG-3)."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from orchtw.registry.aggregation.services import ServiceBackend
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

AVAILABLE: Final = "Available"


class AvailabilityVerdict(msgspec.Struct, frozen=True):
    """Desired content of condition Available."""

    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


LOCAL: Final = AvailabilityVerdict("True", "Local", "Local APIServices are always available")
PASSED: Final = AvailabilityVerdict("True", "Passed", "all checks passed")


def no_service(backend: ServiceBackend) -> AvailabilityVerdict:
    """Return the verdict on a missing Service."""
    return AvailabilityVerdict("False", "ServiceNotFound", f"{_shown(backend)} is not present")


def no_access(backend: ServiceBackend, what: Literal["Service", "Endpoints"], why: str) -> AvailabilityVerdict:
    """Return the verdict on a Service or endpoints that cannot be read."""
    return AvailabilityVerdict("Unknown", f"{what}AccessError", f"{_shown(backend)} cannot be checked due to: {why}")


def failed_discovery(why: str) -> AvailabilityVerdict:
    """Return the verdict on a server that does not answer discovery as it must."""
    return AvailabilityVerdict("False", "FailedDiscoveryCheck", why)


def flaw(backend: ServiceBackend, service: Object, endpoints: Object | None) -> AvailabilityVerdict | None:
    """Return the fault of a Service with a cluster IP, or None; other types are not checked."""
    if service["spec"].get("type", "ClusterIP") != "ClusterIP":
        return None
    number = backend.service.port
    port = next((each for each in service["spec"].get("ports") or () if each.get("port") == number), None)
    if port is None:
        return AvailabilityVerdict(
            "False", "ServicePortError", f"{_shown(backend)} is not listening on port {number}"
        )
    if endpoints is None:
        return AvailabilityVerdict("False", "EndpointsNotFound", f"cannot find endpoints for {_shown(backend)}")
    name = str(port.get("name", ""))
    for subset in endpoints.get("subsets") or ():
        named = any(each.get("name", "") == name for each in subset.get("ports") or ())
        if named and subset.get("addresses"):
            return None
    text = f"endpoints for {_shown(backend)} have no addresses with port name {go_quote(name)}"
    return AvailabilityVerdict("False", "MissingEndpoints", text)


def told(status: Object, verdict: AvailabilityVerdict, now: str) -> Object | None:
    """Return the status with that condition, or None if it already has it."""
    conditions = list(status.get("conditions") or ())
    wanted = {"type": AVAILABLE, **msgspec.structs.asdict(verdict)}
    at = next((at for at, each in enumerate(conditions) if each.get("type") == AVAILABLE), None)
    if at is None:
        return {**status, "conditions": [*conditions, {**wanted, "lastTransitionTime": now}]}
    old = conditions[at]
    since = old.get("lastTransitionTime") if old.get("status") == verdict.status else now
    conditions[at] = {**wanted, "lastTransitionTime": since}
    return None if conditions[at] == old else {**status, "conditions": conditions}


def _shown(backend: ServiceBackend) -> str:
    return f"service/{backend.service.name} in {go_quote(backend.service.namespace)}"
