"""DenyServiceExternalIPs: no Service may take traffic for an address that is not its own (reference PLUG-5)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.admission.attributes import Attributes, Operation
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object


class DenyServiceExternalIPs:
    """DenyServiceExternalIPs: a Service may keep or drop its external IPs, but not add any."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Creates and updates of services."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "services"

    async def validate(self, attributes: Attributes) -> None:
        """Forbidden (403) for an address that is new."""
        before = _addresses(attributes.old)
        if any(each not in before for each in _addresses(attributes.obj)):
            raise attributes.forbidden("Use of external IPs is denied by admission control.")


def _addresses(service: Object | None) -> Sequence[str]:
    return ((service or {}).get("spec") or {}).get("externalIPs") or ()
