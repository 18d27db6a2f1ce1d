"""CertificateSubjectRestriction: no client certificates for the administrators' group (reference PLUG-24)."""

from __future__ import annotations

from base64 import b64decode

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.naming.naming import Naming
from orchtw.rules.certificate_requests import read_request
from orchtw.schema.catalogue import ResourceType


class CertificateSubjectRestriction:
    """Plugin CertificateSubjectRestriction, for the signer of client certificates.

    Certificates of other signers are for nodes, or are not accepted by this server.
    """

    def __init__(self, naming: Naming) -> None:
        self._requests = f"certificatesigningrequests.{naming.group('certificates.orch.io')}"
        self._signer = naming.translate("orch.io/orch-apiserver-client")
        self._group = naming.administrators_group

    @classmethod
    def of(cls, host: AdmissionHost) -> CertificateSubjectRestriction:
        """Return the plugin for the server's vocabulary."""
        return cls(host.naming)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of CertificateSigningRequests."""
        return operation == "CREATE" and not subresource and resource.qualified == self._requests

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for the administrators' group, or a request that cannot be parsed."""
        spec = (attributes.obj or {}).get("spec", {})
        if spec.get("signerName") != self._signer:
            return
        try:
            asked = read_request(b64decode(spec.get("request") or ""))
        except ValueError as error:
            raise attributes.forbidden(f"failed to parse CSR: {error}") from error
        if self._group in asked.organizations:
            raise attributes.forbidden(f"use of {self._signer} signer with {self._group} group is not allowed")
