"""CertificateSigning: signing or failing a request requires verb `sign` on the signer (reference PLUG-23, CSR-12)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.signer_rights import SignerRights
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote


class CertificateSigning:
    """Plugin CertificateSigning; writes to `status` count if they change the certificate or the conditions."""

    def __init__(self, rights: SignerRights) -> None:
        self._rights = rights

    @classmethod
    def of(cls, host: AdmissionHost) -> CertificateSigning:
        """Return the plugin, backed by the server's authorizer."""
        return cls(SignerRights.of(host))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle updates of sub-resource `status`."""
        return operation == "UPDATE" and subresource == "status" and resource.qualified == self._rights.requests

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) unless the user may sign requests for the signer."""
        old, new = attributes.old or {}, attributes.obj or {}
        before, after = old.get("status") or {}, new.get("status") or {}
        if all((before.get(key) or None) == (after.get(key) or None) for key in ("certificate", "conditions")):
            return
        signer = old.get("spec", {}).get("signerName", "")
        if not await self._rights.allow(attributes.user, "sign", signer):
            raise attributes.forbidden(f"user not permitted to sign requests with signerName {go_quote(signer)}")
