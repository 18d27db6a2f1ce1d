"""Approver, signers and cleaner in a world (reference CTRL-30, CTRL-31, CTRL-32)."""
# covers: orchtw.controllers.certificates.approving, orchtw.controllers.certificates.signing

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from cryptography import x509

from orchtw.client.interface import Resource
from orchtw.config.signing import SigningOptions
from orchtw.controllers import enabled
from orchtw.controllers.certificates.signing import Means
from orchtw.controllers.manager import Manager, ManagerSettings
from orchtw.errors import NotFound
from orchtw.pki import certificates
from orchtw.pki.cluster_signing import CLIENT, NODE_CLIENT, NODE_SERVING, ClusterSigning
from orchtw.pki.issuing import SigningAuthority
from orchtw.registry.offload import Offload
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object
from tests.client.world import EPOCH_S
from tests.controllers.asked_certificates import DNS, IP, NODE, NODES, encoded, pem
from tests.controllers.controlled import ControllerTestCase, host

START = datetime.fromtimestamp(EPOCH_S, UTC)
BITS = ["digital signature", "key encipherment"]
HOUR_S, DAY_S = 3600, 86400
YEAR = timedelta(days=365)
AUTHORITY = certificates.new_authority("ca", START - timedelta(days=1))


class Rights:
    """Stand-in for the authorizer: the users and the request sub-resources that they may create."""

    def __init__(self) -> None:
        self.given: set[tuple[str, str]] = set()
        self.asked: list[tuple[UserInfo, RequestInfo]] = []

    async def allowed(self, user: UserInfo, asked: RequestInfo) -> bool:
        self.asked.append((user, asked))
        return (user.name, asked.subresource) in self.given


class RequestCase(ControllerTestCase):
    """Requests are made by a user named test; `own` signs."""

    own: SigningAuthority | None = SigningAuthority(AUTHORITY.certificate, AUTHORITY.key)

    def begin(self) -> None:
        if not hasattr(self, "rights"):
            self.rights = Rights()
        made = attrs.evolve(host(self.world), access=self.rights)
        means = Means(ClusterSigning(SigningOptions(), self.own), YEAR, Offload(None))
        settings = ManagerSettings(enabled=frozenset(self.names), signing=means)
        self.manager = Manager(made, lambda host: enabled(host, settings))
        self.manager.startService()

    @property
    def requests(self) -> Resource:
        group = self.world.naming.group("certificates.orch.io")
        return self.world.client.resource(group, "v1", "certificatesigningrequests")

    def ask(self, name: str, request: bytes, signer: str, usages: list[str], **more: Any) -> None:
        spec = {"request": encoded(request), "signerName": self.world.naming.translate(signer), "usages": usages}
        obj = {"metadata": {"name": name}, "spec": {**spec, **more}}
        self.world.run(self.world.client.create(self.requests, "", obj))
        self.world.settle()

    def found(self, name: str) -> Object | None:
        try:
            return self.world.run(self.world.client.get(self.requests, "", name))
        except NotFound:
            return None

    def status(self, name: str) -> Object:
        request = self.found(name)
        assert request is not None
        status: Object = request.get("status") or {}
        return status

    def decide(self, name: str, kind: str = "Approved", subresource: str = "approval") -> None:
        conditions = [*(self.status(name).get("conditions") or []), {"type": kind, "status": "True"}]
        changes = {"status": {"conditions": conditions}}
        self.world.run(self.world.client.patch(self.requests, "", name, changes, subresource))
        self.world.settle()

    def outcome(self, name: str) -> list[tuple[str, str, str]]:
        conditions = self.status(name).get("conditions") or []
        return [(each["type"], each.get("reason", ""), each.get("message", "")) for each in conditions]

    def certificate(self, name: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate(b64decode(self.status(name)["certificate"]))


class ApproverTests(RequestCase):
    names = ("csrapproving",)
    usages = [*BITS, "client auth"]

    def test_own_name(self) -> None:
        """A request for the requester's own name needs the right to selfnodeclient (reference CTRL-30)."""
        self.rights.given = {("test", "selfnodeclient")}
        self.ask("other", pem(NODE, NODES), NODE_CLIENT, self.usages)
        self.assertEqual(self.outcome("other"), [])
        self.world.client._user = UserInfo(name=NODE, groups=("a",), uid="u", extra={"k": ("v",)})
        self.rights.given = {(NODE, "selfnodeclient")}
        self.rights.asked = []
        self.ask("own", pem(NODE, NODES), NODE_CLIENT, self.usages)
        message = "Auto approving self orchlet client certificate after SubjectAccessReview."
        self.assertEqual(self.outcome("own"), [("Approved", "AutoApproved", message)])
        user, asked = next(each for each in self.rights.asked if each[0].name == NODE)
        self.assertEqual((user.groups, user.uid, dict(user.extra)), (("a",), "u", {"k": ("v",)}))
        self.assertEqual(
            (asked.verb, asked.group, asked.resource, asked.name, asked.namespace),
            ("create", "certificates.orch.io", "certificatesigningrequests", "", ""),
        )

    def test_any_name(self) -> None:
        """Others need the right for any node; it may come later."""
        self.ask("a", pem(NODE, NODES), NODE_CLIENT, self.usages)
        self.assertEqual(self.outcome("a"), [])
        self.assertEqual({each[1].subresource for each in self.rights.asked}, {"nodeclient"})
        self.rights.given = {("test", "nodeclient")}
        self.world.settle(5)
        message = "Auto approving orchlet client certificate after SubjectAccessReview."
        self.assertEqual(self.outcome("a"), [("Approved", "AutoApproved", message)])

    def test_others(self) -> None:
        """Nobody is asked about what is not a node's request, or has been decided."""
        self.ask("person", pem("jane"), CLIENT, ["client auth"])
        self.ask("names", pem(NODE, NODES, (DNS,)), NODE_CLIENT, self.usages)
        self.ask("usages", pem(NODE, NODES), NODE_CLIENT, ["client auth"])
        self.ask("long", pem(NODE, ("x" * 60,) * 1200), NODE_CLIENT, self.usages)
        self.assertEqual(self.rights.asked, [])
        self.ask("denied", pem(NODE, NODES), NODE_CLIENT, self.usages)
        self.decide("denied", "Denied")
        self.rights.given = {("test", "nodeclient")}
        self.world.settle(10)
        self.assertEqual([each[0] for each in self.outcome("denied")], ["Denied"])

    def test_unapproved(self) -> None:
        """Without anybody to ask nothing is approved."""
        self.assertFalse(self.world.run(host(self.world).access.allowed(UserInfo(name="a"), self.info())))

    def info(self) -> RequestInfo:
        return RequestInfo(is_resource=True, verb="create", path="")


class KubernetesApproverTests(RequestCase):
    names = ("csrapproving", "csrsigning")
    vocabulary = "kubernetes"

    def test_names(self) -> None:
        """Signers and messages are named in the vocabulary that is served."""
        self.rights.given = {("test", "nodeclient")}
        self.ask("a", pem(NODE, NODES), NODE_CLIENT, [*BITS, "client auth"])
        message = "Auto approving kubelet client certificate after SubjectAccessReview."
        self.assertEqual(self.outcome("a"), [("Approved", "AutoApproved", message)])
        self.assertIn("certificate", self.status("a"))


class SignerTests(RequestCase):
    names = ("csrsigning",)

    def test_approved(self) -> None:
        """An approved request is signed, and no other (reference CTRL-31, CSR-14)."""
        self.ask("a", pem("jane", ("dev",)), CLIENT, ["client auth"])
        self.assertNotIn("certificate", self.status("a"))
        self.decide("a")
        issued = self.certificate("a")
        self.assertTrue(certificates.issued_by(issued, AUTHORITY.certificate))
        self.assertEqual(issued.subject.rfc4514_string(), "CN=jane,O=dev")
        self.assertEqual(issued.not_valid_before_utc, START - timedelta(minutes=5))
        self.assertEqual(issued.not_valid_after_utc, START + YEAR - timedelta(minutes=5))
        self.assertEqual(self.outcome("a"), [("Approved", "", "")])
        version = (self.found("a") or {})["metadata"]["resourceVersion"]
        self.restart()
        self.world.settle(5)
        self.assertEqual((self.found("a") or {})["metadata"]["resourceVersion"], version)

    def test_expiration(self) -> None:
        """The request may ask for a shorter life, never for a longer one (reference CSR-14)."""
        for name, seconds, expected_s in (("short", 600, 600), ("long", 2**31 - 1, 365 * DAY_S - 300)):
            self.ask(name, pem(), CLIENT, ["client auth"], expirationSeconds=seconds)
            self.decide(name)
            self.assertEqual(self.certificate(name).not_valid_after_utc, START + timedelta(seconds=expected_s))

    def test_failed(self) -> None:
        """A request that the signer may not sign becomes Failed, for good."""
        self.ask("a", pem(NODE, NODES, (IP,)), NODE_SERVING, ["server auth"])
        self.decide("a")
        failed = "usages did not match [digital signature key encipherment server auth]"
        expected = [("Approved", "", ""), ("Failed", "SignerValidationFailure", failed)]
        self.assertEqual(self.outcome("a"), expected)
        self.world.settle(60)
        self.assertEqual(self.outcome("a"), expected)
        self.assertNotIn("certificate", self.status("a"))

    def test_unreadable(self) -> None:
        """A request that cannot be parsed fails too (reference CSR-17)."""
        self.ask("a", pem("jane", ("x" * 60,) * 1200), CLIENT, ["client auth"])
        self.decide("a")
        message = "unable to parse request: the request has more than 16384 bytes"
        self.assertEqual(self.outcome("a")[1:], [("Failed", "SignerValidationFailure", message)])

    def test_left_alone(self) -> None:
        """Denied and failed requests, and those to others' signers, are not touched."""
        self.ask("denied", pem(), CLIENT, ["client auth"])
        self.decide("denied", "Denied")
        self.ask("failed", pem(), CLIENT, ["client auth"])
        self.decide("failed", "Failed", "status")
        self.decide("failed")
        self.ask("other", pem(), "example.com/signer", ["client auth"])
        self.decide("other")
        for name in ("denied", "failed", "other"):
            self.assertNotIn("certificate", self.status(name))
        self.assertEqual(self.outcome("other"), [("Approved", "", "")])


class NobodySignsTests(RequestCase):
    names = ("csrsigning",)
    own = None

    def test_nobody(self) -> None:
        """Without an authority requests wait."""
        self.ask("a", pem(), CLIENT, ["client auth"])
        self.decide("a")
        self.assertEqual(self.outcome("a"), [("Approved", "", "")])


class ExpiredAuthorityTests(RequestCase):
    names = ("csrsigning",)
    expired = certificates.new_authority("old", START - timedelta(days=3660))
    own = SigningAuthority(expired.certificate, expired.key)

    def test_expired(self) -> None:
        """An authority that has ended signs nothing; the request waits for another."""
        self.ask("a", pem(), CLIENT, ["client auth"])
        self.decide("a")
        self.assertEqual(self.outcome("a"), [("Approved", "", "")])


class CleanerTests(RequestCase):
    names = ("csrcleaner", "csrsigning")

    def ages(self, name: str) -> int:
        """The hours after which the request is found gone."""
        for hour in range(30):
            if self.found(name) is None:
                return hour
            self.world.settle(HOUR_S, 60)
        return -1

    def test_pending(self) -> None:
        """A request without decision stays for a day (reference CTRL-32)."""
        self.ask("a", pem(), "example.com/signer", ["client auth"])
        self.assertEqual(self.ages("a"), 25)

    def test_decided(self) -> None:
        """A decided or failed request is deleted after an hour, at the next pass."""
        for kind, sub in (("Approved", "approval"), ("Denied", "approval"), ("Failed", "status")):
            self.ask(kind.lower(), pem(), "example.com/signer", ["client auth"])
            self.decide(kind.lower(), kind, sub)
        self.world.settle(HOUR_S - 60, 60)
        self.assertIsNotNone(self.found("approved"))
        self.world.settle(HOUR_S + 120, 60)
        self.assertEqual([self.found(name) for name in ("approved", "denied", "failed")], [None] * 3)

    def test_expired(self) -> None:
        """A request whose certificate has expired is deleted at the next pass."""
        self.ask("a", pem(), CLIENT, ["client auth"], expirationSeconds=600)
        self.decide("a")
        self.world.settle(HOUR_S - 60, 60)
        self.assertIsNotNone(self.found("a"))
        self.world.settle(61, 1)
        self.assertIsNone(self.found("a"))

    def test_later_condition(self) -> None:
        """Conditions of others are not decisions."""
        self.ask("a", pem(), "example.com/signer", ["client auth"])
        self.decide("a", "Seen", "status")
        self.world.settle(3 * HOUR_S, 60)
        self.assertIsNotNone(self.found("a"))
