"""Authorization webhook: its questions, the meaning of its answers, and failures."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any, cast

import msgspec
import orjson
import yaml
from hypothesis import given
from hypothesis import strategies as st
from twisted.application.service import MultiService
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.authz.decision import AuthzHost, Decision
from orchtw.authz.remembered import MAX_DECISIONS, MAX_REASON, Remembered
from orchtw.authz.webhook import AuthzWebhookSettings, Webhook, from_flags
from orchtw.authz.webhook_review import decision_of, review, spec_of
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound import retries
from orchtw.outbound.answers import BadResponse
from orchtw.outbound.caller import Caller, CallFailed
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.request import RequestInfo, UserInfo
from orchtw.testing.webhook import HANG_UP, Reply, WebhookRequest, WebhookServer
from tests.authz.answers import decided
from tests.outbound.doubles import Cluster
from tests.properties import examples

reactor: Any = installed_reactor

V1 = "authorization.orch.io/v1"
BOB = UserInfo(name="bob", uid="7", groups=("dev", "system:authenticated"), extra={"scopes": ("a", "b")})
LOG = RequestInfo(
    is_resource=True, verb="get", path="/x", group="apps", version="v1", namespace="ns", resource="pods",
    subresource="log", name="p",
)  # fmt: skip
VERSION = RequestInfo(is_resource=False, verb="get", path="/version")

SCALARS = st.sampled_from((None, True, False, 0, 1.5, "", "true", V1, "SubjectAccessReview"))
NAMES = st.sampled_from(("kind", "apiVersion", "allowed", "reason", "x"))
STATUSES = st.dictionaries(NAMES, SCALARS | st.lists(SCALARS, max_size=2), max_size=4)
JSON = SCALARS | st.lists(SCALARS, max_size=3) | st.fixed_dictionaries(
    {}, optional={"kind": SCALARS, "apiVersion": SCALARS, "status": SCALARS | STATUSES}
)
"""Answers near a review, and others."""


def status(**fields: Any) -> bytes:
    """Return an encoded SubjectAccessReview with a status."""
    return orjson.dumps({"kind": "SubjectAccessReview", "apiVersion": V1, "status": fields})


class ReviewTests(SynchronousTestCase):
    def test_questions(self) -> None:
        """A review contains the user and the request, in the version that the flag names (reference AUTHZ-34)."""
        resource = {
            "namespace": "ns", "verb": "get", "group": "apps", "version": "v1", "resource": "pods",
            "subresource": "log", "name": "p",
        }  # fmt: skip
        who = {"user": "bob", "groups": ["dev", "system:authenticated"], "extra": {"scopes": ["a", "b"]}, "uid": "7"}
        sent = orjson.loads(review(spec_of(BOB, LOG, "v1"), V1))
        self.assertEqual(sent["spec"], {"resourceAttributes": resource, **who})
        self.assertEqual((sent["kind"], sent["apiVersion"]), ("SubjectAccessReview", V1))
        old = orjson.loads(review(spec_of(BOB, LOG, "v1beta1"), "authorization.orch.io/v1beta1"))["spec"]
        self.assertEqual((old["group"], "groups" in old), (["dev", "system:authenticated"], False))

    def test_paths(self) -> None:
        """A question about a path has nonResourceAttributes; empty fields are left out (reference AUTHZ-34)."""
        spec = spec_of(UserInfo(name="ann"), VERSION, "v1")
        self.assertEqual(spec, {"nonResourceAttributes": {"path": "/version", "verb": "get"}, "user": "ann"})

    def test_answers(self) -> None:
        """allowed allows, denied denies also beside it, neither means no opinion (reference AUTHZ-34)."""
        both = "webhook subject access review returned both allow and deny response"
        for fields, decision in (
            ({"allowed": True}, Decision(True)),
            ({"allowed": True, "reason": "is ann"}, Decision(True, "is ann")),
            ({"allowed": False, "reason": "who?"}, Decision(None, "who?")),
            ({"allowed": False, "denied": True, "reason": "never"}, Decision(False, "never")),
            ({"allowed": True, "denied": True}, Decision(False, "", both)),
            ({"allowed": None}, Decision(None)),
            ({}, Decision(None)),
        ):
            self.assertEqual(decision_of(status(**fields), V1), decision)

    def test_lies(self) -> None:
        """An answer that is not a review of that version yields no opinion (reference AUTHZ-37)."""
        for answer in (
            b"", b"yes", b"[]", b'"x"', b"\xff", b'{"status":true}', b"[" * 100_000,
            status(allowed="true"), status(allowed=1), status(allowed=True, reason=7), status(denied=[]),
            status(allowed=True).replace(b"/v1", b"/v1beta1"), status(allowed=True).replace(b"SubjectA", b"SelfA"),
            b'{"status":{"allowed":true}}', b'{"kind":"SubjectAccessReview","status":{"allowed":true}}',
            b'{"apiVersion":"%b","status":{"allowed":true}}' % V1.encode(),
        ):  # fmt: skip
            self.assertRaises(BadResponse, decision_of, answer, V1)


    @examples(300)
    @given(JSON)
    def test_anything(self, value: Any) -> None:
        """Whatever JSON is answered, it is a decision or a bad answer, and allows only by `true` (AUTHZ-37)."""
        try:
            decision = decision_of(orjson.dumps(value), V1)
        except BadResponse:
            return
        self.assertEqual(decision.allowed is True, (value.get("status") or {}).get("allowed") is True)


class RememberedTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.remembered = Remembered(self.clock.seconds, limit=2)

    def test_time(self) -> None:
        """A decision is forgotten when its time is over (reference AUTHZ-35)."""
        self.remembered.keep(b"a", Decision(True), 5)
        self.clock.advance(4.9)
        self.assertEqual(self.remembered.find(b"a"), Decision(True))
        self.clock.advance(0.1)
        self.assertIs(self.remembered.find(b"a"), None)
        self.assertEqual(len(self.remembered), 0)

    def test_bounds(self) -> None:
        """A full cache evicts the least recently used answer; long reasons are not cached (reference AUTHZ-35)."""
        for key in (b"a", b"b"):
            self.remembered.keep(key, Decision(True), 5)
        self.remembered.find(b"a")
        self.remembered.keep(b"c", Decision(None), 5)
        found = [self.remembered.find(key) for key in (b"a", b"b", b"c")]
        self.assertEqual(found, [Decision(True), None, Decision(None)])
        self.remembered.keep(b"d", Decision(True, "x" * (MAX_REASON + 1)), 5)
        self.remembered.keep(b"e", Decision(True), 0)
        self.assertEqual((self.remembered.find(b"d"), self.remembered.find(b"e")), (None, None))


class WebhookCase(SynchronousTestCase):
    """A webhook whose answers the test gives."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.asked: list[Deferred[bytes]] = []
        self.ended: list[Deferred[bytes]] = []
        settings = AuthzWebhookSettings(version="v1", api_version=V1, authorized_ttl_s=300.0, unauthorized_ttl_s=30.0)
        self.webhook = Webhook(self.ask, settings, self.clock)

    def ask(self, body: bytes) -> Deferred[bytes]:
        asked: Deferred[bytes] = Deferred(self.ended.append)
        self.asked.append(asked)
        return asked

    def question(self, user: UserInfo = BOB, info: RequestInfo = LOG) -> Deferred[Decision]:
        """Ask; the decision may be yet to come."""
        answer = self.webhook.authorize(user, info)
        if isinstance(answer, Decision):
            done: Deferred[Decision] = Deferred()
            done.callback(answer)
            return done
        return Deferred.fromCoroutine(cast(Coroutine[Deferred[Any], Any, Decision], answer))


class WebhookTests(WebhookCase):
    def test_remembers(self) -> None:
        """Permissions are remembered for one time, other answers for another (reference AUTHZ-35)."""
        for fields, seconds in (({"allowed": True}, 300), ({}, 30), ({"denied": True}, 30)):
            self.clock.advance(1000)
            self.asked.clear()
            first = self.question()
            self.asked[0].callback(status(**fields))
            decision = self.successResultOf(first)
            self.clock.advance(seconds - 0.1)
            self.assertEqual(self.webhook.authorize(BOB, LOG), decision)
            self.clock.advance(0.1)
            again = self.question()
            self.assertEqual(len(self.asked), 2)
            self.asked[1].callback(status())
            self.successResultOf(again)

    def test_every_field_counts(self) -> None:
        """A cached answer is used for the identical question only (reference AUTHZ-35)."""
        first = self.question()
        self.asked[0].callback(status(allowed=True))
        self.successResultOf(first)
        for info in (msgspec.structs.replace(LOG, name="q"), msgspec.structs.replace(LOG, verb="list"), VERSION):
            self.question(info=info)
        for user in (
            msgspec.structs.replace(BOB, uid="8"),
            msgspec.structs.replace(BOB, groups=("dev",)),
            msgspec.structs.replace(BOB, extra={}),
        ):
            self.question(user)
        self.assertEqual(len(self.asked), 7)

    def test_refusals_push_out_no_permission(self) -> None:
        """However much is asked that is not allowed, permissions stay remembered (reference AUTHZ-37)."""
        first = self.question()
        self.asked[-1].callback(status(allowed=True))
        self.successResultOf(first)
        for number in range(MAX_DECISIONS + 1):
            asked = self.question(info=msgspec.structs.replace(LOG, name=str(number)))
            self.asked.pop().callback(status())
            self.successResultOf(asked)
        self.assertEqual(self.webhook.authorize(BOB, LOG), Decision(True))

    def test_long_questions(self) -> None:
        """The answer to a long question is not remembered (reference AUTHZ-35)."""
        long = msgspec.structs.replace(LOG, name="x" * 10_000)
        for number in (1, 2):
            asked = self.question(info=long)
            self.assertEqual(len(self.asked), number)
            self.asked[-1].callback(status(allowed=True))
            self.assertTrue(self.successResultOf(asked).allowed)

    def test_one_call(self) -> None:
        """Identical concurrent questions share one call, even when one caller leaves (reference AUTHZ-37)."""
        first, second, third = self.question(), self.question(), self.question()
        self.assertEqual(len(self.asked), 1)
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.asked[0].callback(status(allowed=True))
        self.assertTrue(self.successResultOf(second).allowed and self.successResultOf(third).allowed)

    def test_nobody_waits(self) -> None:
        """When all have left, the call is ended."""
        only = self.question()
        only.cancel()
        self.failureResultOf(only, CancelledError)
        self.assertEqual(self.ended, self.asked)

    def test_failure(self) -> None:
        """A webhook that cannot be asked has no opinion, says why, and is asked again (reference AUTHZ-37)."""
        first = self.question()
        self.asked[0].errback(CallFailed("Post: EOF"))
        self.assertEqual(self.successResultOf(first), Decision(None, error="Post: EOF"))
        second = self.question()
        self.asked[1].callback(b"<html>")
        self.assertEqual(self.successResultOf(second).error, "the webhook's answer is not JSON")
        self.question()
        self.assertEqual(len(self.asked), 3)

    def test_not_text(self) -> None:
        """A name that is not text means no opinion."""
        answer = self.webhook.authorize(UserInfo(name="\udcff"), LOG)
        self.assertEqual(answer, Decision(None, error="the review is not UTF-8 text"))

    def test_rules(self) -> None:
        """The webhook's rules cannot be listed, and a rules review says so (reference AUTHZ-29)."""
        rules = self.webhook.rules_for(BOB, "ns")
        expected = (True, "webhook authorizer does not support user rule resolution")
        self.assertEqual((rules.incomplete, rules.error), expected)


class RealWebhookTests(TestCase):
    """A webhook on this machine, found by a client configuration."""

    def setUp(self) -> None:
        self.server = WebhookServer(reactor, self.answer)
        self.addCleanup(self.server.stop)
        own = ServiceReference(namespace="default", name="orch")
        caller = Caller(reactor, Resolver(Cluster(), own, Random(1)), "orch-apiserver/v1.24.0")
        self.addCleanup(caller.stopService)
        self.host = AuthzHost(
            naming=Naming.orch(),
            clock=reactor,
            random=Random(1),
            targets=cast(Any, None),
            caller=caller,
            services=MultiService(),
        )
        self.replies: list[Any] = [{"status": {"allowed": True}}]

    def answer(self, asked: WebhookRequest) -> Any:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Deferred):
            return reply.addCallback(lambda status: decided(asked, **status))
        if not isinstance(reply, dict):
            return reply
        return decided(asked, **reply["status"])

    def made(self, **settings: Any) -> Webhook:
        path = Path(self.mktemp())
        cluster = {"server": f"{self.server.url}/authorize", "certificate-authority-data": self.server.ca_bundle}
        config = {
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "s3cret"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path.write_text(yaml.safe_dump(config))
        return from_flags(self.host, Config.of(authorization_webhook_config_file=path, **settings).authz)

    async def decided(self, webhook: Webhook) -> Decision:
        answer = webhook.authorize(BOB, LOG)
        return answer if isinstance(answer, Decision) else await answer

    async def test_versions(self) -> None:
        """It is asked in v1beta1 unless the flag says v1, at its path, as the user (reference AUTHZ-34)."""
        self.assertTrue((await self.decided(self.made())).allowed)
        self.assertTrue((await self.decided(self.made(authorization_webhook_version="v1"))).allowed)
        for asked, version, groups in zip(self.server.asked, ("v1beta1", "v1"), ("group", "groups"), strict=True):
            self.assertEqual(asked.json["apiVersion"], f"authorization.orch.io/{version}")
            self.assertEqual(asked.json["spec"][groups], ["dev", "system:authenticated"])
            self.assertEqual((asked.method, asked.target.partition("?")[0]), ("POST", "/authorize"))
            self.assertEqual(asked.headers["authorization"], "Bearer s3cret")

    async def test_tries_again(self) -> None:
        """An error of the server and a lost connection are tried again (reference AUTHZ-35)."""
        self.replies = [Reply(code=500), HANG_UP, {"status": {"allowed": True}}]
        self.assertTrue((await self.decided(self.made())).allowed)
        self.assertEqual(len(self.server.asked), 3)

    async def test_nobody_there(self) -> None:
        """An unreachable webhook yields no opinion, with the reason (reference AUTHZ-37)."""
        webhook = self.made()
        await self.server.stop()
        waits: list[float] = []
        self.patch(retries, "deferLater", lambda clock, seconds: waits.append(seconds))
        decision = await self.decided(webhook)
        self.assertIsNone(decision.allowed)
        self.assertRegex(decision.error, r'^Post "https://.*authorize.*": dial tcp .*: connect: connection refused$')
        self.assertEqual(waits, [])

    async def test_refusal_is_final(self) -> None:
        """An answer that blames the question is not tried again, and means no opinion (reference AUTHZ-37)."""
        self.replies = [Reply(code=403, body=b"go away", content_type="text/plain")]
        self.assertEqual(await self.decided(self.made()), Decision(None, error="go away"))
        self.assertEqual(len(self.server.asked), 1)

    async def test_large_answer(self) -> None:
        """An answer without end means no opinion (reference AUTHZ-37)."""
        self.replies = [Reply(body=b'{"status":{"allowed":true,"reason":"' + b"x" * (300 << 10) + b'"}}')]
        decision = await self.decided(self.made())
        self.assertEqual((decision.allowed, bool(decision.error)), (None, True))

    async def test_slow_webhook_holds_nobody_else(self) -> None:
        """A slow call delays only its own question: cached answers return at once (reference AUTHZ-37)."""
        webhook = self.made()
        await self.decided(webhook)
        slow: Deferred[Any] = Deferred()
        self.replies = [slow]
        waiting = Deferred.fromCoroutine(cast(Any, webhook.authorize(BOB, VERSION)))
        self.assertIsInstance(webhook.authorize(BOB, LOG), Decision)
        slow.callback({"denied": True})
        self.assertIs((await waiting).allowed, False)

    def test_bad_file(self) -> None:
        """A configuration that is invalid ends the start, in a line that names flag and file (reference AUTHZ-36)."""
        path = Path(self.mktemp())
        options = Config.of(authorization_webhook_config_file=path).authz
        error: ConfigError = self.assertRaises(ConfigError, from_flags, self.host, options)
        (problem,) = error.problems
        self.assertEqual(problem, f"--authorization-webhook-config-file: {path}: No such file or directory")
