"""DenyServiceExternalIPs: no new external IPs of Services (reference PLUG-5)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.admission.attributes import Attributes, Operation
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object


class DenyServiceExternalIPs:
    """Plugin DenyServiceExternalIPs; a Service may keep or drop its external IPs, but not add any."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Services."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "services"

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a new address."""
        before = _addresses(attributes.old)
        if any(each not in before for each in _addresses(attributes.obj)):
            raise attributes.forbidden("Use of external IPs is denied by admission control.")


def _addresses(service: Object | None) -> Sequence[str]:
    return ((service or {}).get("spec") or {}).get("externalIPs") or ()
