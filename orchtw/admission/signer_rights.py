"""Rights on signers, to approve and sign CertificateSigningRequests (reference CSR-12, PLUG-23)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.host import AdmissionHost
from orchtw.authz.decision import Authorizer, Decision
from orchtw.request import RequestInfo, UserInfo

_VERSION: Final = "*"


class SignerRights:
    """Authorization for a signer, by its name or by that of all signers of its domain, `<domain>/*`."""

    def __init__(self, authorizer: Authorizer, group: str) -> None:
        self._authorizer = authorizer
        self._group = group

    @classmethod
    def of(cls, host: AdmissionHost) -> SignerRights:
        """Return the rights that the server's authorizer grants."""
        return cls(host.authorizer, host.naming.group("certificates.orch.io"))

    @property
    def requests(self) -> str:
        """Return the qualified resource of CertificateSigningRequests."""
        return f"certificatesigningrequests.{self._group}"

    async def allow(self, user: UserInfo, verb: str, signer: str) -> bool:
        """Report whether the user is allowed `verb` on the signer."""
        names = (signer, f"{signer.partition('/')[0]}/*")
        for name in names:
            if await self._allows(user, verb, name):
                return True
        return False

    async def _allows(self, user: UserInfo, verb: str, name: str) -> bool:
        asked = RequestInfo(
            is_resource=True, verb=verb, path="", group=self._group, version=_VERSION, resource="signers", name=name
        )
        decision = self._authorizer.authorize(user, asked)
        if not isinstance(decision, Decision):
            decision = await decision
        return bool(decision.allowed)
