"""Rights on signers, and subjects that nobody gets (reference CSR-12, PLUG-23, PLUG-24)."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any

from twisted.internet.defer import Deferred, succeed

from orchtw import authz
from orchtw.authz.decision import ALLOWED, EVERYTHING, NO_OPINION, Decision, UserRules
from orchtw.pki import certificates
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object
from tests.controllers.asked_certificates import encoded, pem
from tests.verbs.served import ServedCase

V1 = "certificates.orch.io/v1"
REQUESTS = f"/apis/{V1}/certificatesigningrequests"
CLIENT = "orch.io/orch-apiserver-client"
BOB = {"impersonate-user": "bob"}
CERTIFICATE = encoded(certificates.pem(certificates.new_authority("a", datetime(2026, 1, 1, tzinfo=UTC)).certificate))
APPROVED, FAILED = {"type": "Approved", "status": "True"}, {"type": "Failed", "status": "True"}


class Signers:
    """Everybody may do everything but what signers are for: that as far as `given` says. It may answer late."""

    def __init__(self) -> None:
        self.given: set[tuple[str, str, str]] = set()
        self.late = False
        self.asked: list[RequestInfo] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        if info.resource != "signers":
            return ALLOWED
        self.asked.append(info)
        decision = ALLOWED if (user.name, info.verb, info.name) in self.given else NO_OPINION
        answer: Deferred[Decision] = succeed(decision)
        return answer if self.late else decision

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return EVERYTHING


class CertificatePluginTests(ServedCase):
    """The plugins in a whole server, asked by bob."""

    def setUp(self) -> None:
        self.signers = Signers()
        self.patch(authz, "MODES", {**authz.MODES, "RBAC": lambda host, config: self.signers})
        super().setUp()

    def made(self, name: str, signer: str = CLIENT, organizations: tuple[str, ...] = ()) -> Any:
        spec = {"request": encoded(pem("jane", organizations)), "signerName": signer, "usages": ["client auth"]}
        return self.send("POST", REQUESTS, {"metadata": {"name": name}, "spec": spec}, BOB)

    def change(self, name: str, sub: str, **status: Any) -> Any:
        obj: Object = self.done("GET", f"{REQUESTS}/{name}")
        changed = {**obj, "status": {**(obj.get("status") or {}), **status}}
        return self.send("PUT", f"{REQUESTS}/{name}/{sub}", changed, BOB)

    def assertForbidden(self, answer: Any, name: str, why: str) -> None:
        self.assertEqual(answer.code, 403, answer.body)
        expected = f'certificatesigningrequests.certificates.orch.io "{name}" is forbidden: {why}'
        self.assertEqual(answer.json["message"], expected)

    def test_approve(self) -> None:
        """A decision needs `approve` on the signer, or on its domain."""
        self.assertEqual(self.made("a").code, 201)
        refused = f'user not permitted to approve requests with signerName "{CLIENT}"'
        self.signers.given = {("bob", "sign", CLIENT), ("bob", "approve", "orch.io/*x"), ("bob", "approve", "*/*")}
        self.assertForbidden(self.change("a", "approval", conditions=[APPROVED]), "a", refused)
        self.assertForbidden(self.change("a", "approval", conditions=[{**APPROVED, "type": "Denied"}]), "a", refused)
        self.assertEqual([each.name for each in self.signers.asked[:2]], [CLIENT, "orch.io/*"])
        (group,) = {each.group for each in self.signers.asked}
        self.assertEqual(group, "certificates.orch.io")
        for late, right in ((False, CLIENT), (True, "orch.io/*")):
            self.signers.late = late
            self.signers.given = {("bob", "approve", right)}
            self.assertEqual(self.change("a", "approval", conditions=[APPROVED]).code, 200)

    def test_sign(self) -> None:
        """Issuing and failing need `sign`; other changes need nothing."""
        self.made("a")
        refused = f'user not permitted to sign requests with signerName "{CLIENT}"'
        self.signers.given = {("bob", "approve", CLIENT)}
        self.assertForbidden(self.change("a", "status", conditions=[FAILED]), "a", refused)
        self.assertForbidden(self.change("a", "status", certificate=CERTIFICATE), "a", refused)
        self.signers.asked = []
        self.assertEqual(self.change("a", "status").code, 200)
        self.assertEqual(self.signers.asked, [])
        self.signers.given = {("bob", "sign", "orch.io/*")}
        self.assertEqual(self.change("a", "status", certificate=CERTIFICATE).code, 200)
        self.assertEqual(self.change("a", "status", conditions=[FAILED]).code, 200)

    def test_masters(self) -> None:
        """Members of system:masters may everything."""
        self.made("a")
        obj = self.done("GET", f"{REQUESTS}/a")
        self.done("PUT", f"{REQUESTS}/a/approval", {**obj, "status": {"conditions": [APPROVED]}})

    def test_administrators(self) -> None:
        """Nobody asks the signer of clients for the administrators' group; other signers decide for themselves."""
        why = f"use of {CLIENT} signer with system:masters group is not allowed"
        self.assertForbidden(self.made("a", organizations=("dev", "system:masters")), "a", why)
        self.assertEqual(self.made("b", organizations=("dev",)).code, 201)
        self.assertEqual(self.made("c", "example.com/s", ("system:masters",)).code, 201)

    def test_unreadable(self) -> None:
        """An overlong request is refused (reference CSR-17)."""
        answer = self.made("a", organizations=("x" * 60,) * 1200)
        self.assertForbidden(answer, "a", "failed to parse CSR: the request has more than 16384 bytes")
        self.assertEqual(self.made("b", "example.com/s", ("x" * 60,) * 1200).code, 201)
