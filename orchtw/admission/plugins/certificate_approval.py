"""CertificateApproval: approving or denying requires verb `approve` on the signer (reference PLUG-23, CSR-12)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.signer_rights import SignerRights
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote


class CertificateApproval:
    """Plugin CertificateApproval; every write to `approval` counts, even one that changes labels only."""

    def __init__(self, rights: SignerRights) -> None:
        self._rights = rights

    @classmethod
    def of(cls, host: AdmissionHost) -> CertificateApproval:
        """Return the plugin, backed by the server's authorizer."""
        return cls(SignerRights.of(host))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle updates of sub-resource `approval`."""
        return operation == "UPDATE" and subresource == "approval" and resource.qualified == self._rights.requests

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) unless the user may approve requests for the signer."""
        signer = (attributes.old or {}).get("spec", {}).get("signerName", "")
        if not await self._rights.allow(attributes.user, "approve", signer):
            raise attributes.forbidden(
                f"user not permitted to approve requests with signerName {go_quote(signer)}"
            )
