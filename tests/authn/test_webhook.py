"""Tokens that a webhook knows (reference AUTHN-36, AUTHN-37)."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import attrs
import orjson
from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn import webhook
from orchtw.authn.bearer_token import BearerTokens
from orchtw.authn.method import ShownToken
from orchtw.authn.token_cache import Accepted, Refused, Verdicts
from orchtw.authn.union import chain
from orchtw.authn.webhook import BadTokenReview, WebhookTokens, verdict_of
from orchtw.config import Config
from orchtw.errors import ConfigError, Unauthorized
from orchtw.naming.naming import Naming
from orchtw.outbound import retries
from orchtw.outbound.caller import CallFailed
from orchtw.request import Peer, Request, UserInfo
from orchtw.testing.webhook import HANG_UP, Reply
from tests.authn.hosts import a_host
from tests.outbound.test_caller import CallerCase, reactor

V1BETA1 = "authentication.orch.io/v1beta1"
USER = {"username": "alice", "uid": "7", "groups": ["dev"], "extra": {"k": ["a", "b"]}}
ALICE = UserInfo(name="alice", uid="7", groups=("dev", "system:authenticated"), extra={"k": ("a", "b")})


def review(status: Any, api_version: str = V1BETA1, **more: Any) -> bytes:
    """Return an encoded TokenReview with a status."""
    return orjson.dumps({"kind": "TokenReview", "apiVersion": api_version, "status": status, **more})


class VerdictTests(SynchronousTestCase):
    """Interpretation of the webhook's answers (reference AUTHN-37)."""

    def said(self, status: Any, **more: Any) -> Any:
        """The user of an answer, or its refusal."""
        found = verdict_of(review(status), V1BETA1, **more)
        return found.user if isinstance(found, Accepted) else found

    def test_user(self) -> None:
        """Name, uid, groups and extra values are taken over; `spec` need not be there (reference AUTHN-1)."""
        self.assertEqual(self.said({"authenticated": True, "user": USER}), ALICE)

    def test_bare(self) -> None:
        """A user need not have anything."""
        for status in ({"authenticated": True}, {"authenticated": True, "user": {"groups": None}}):
            found = self.said(status)
            self.assertEqual(found, UserInfo(name="", groups=("system:authenticated",)))

    def test_refused(self) -> None:
        """No success is a refusal, with the webhook's text, as one short line, or without one."""
        self.assertEqual(verdict_of(review({"authenticated": False}), V1BETA1), Refused(""))
        self.assertEqual(verdict_of(review({"user": USER}), V1BETA1), Refused(""))
        self.assertEqual(verdict_of(review({"error": "no\nway"}), V1BETA1), Refused("no way"))
        found = verdict_of(review({"error": "x" * 100_000}), V1BETA1)
        assert isinstance(found, Refused)
        self.assertLess(len(found.why), 300)

    def test_error_beside_success(self) -> None:
        """An error beside a success is ignored."""
        self.assertEqual(self.said({"authenticated": True, "user": USER, "error": "x"}), ALICE)

    def test_audiences(self) -> None:
        """One audience in common is enough, none is a refusal; left out, it is the API's (reference AUTHN-52)."""
        for accepted, common in ((["a"], ("a",)), (["x", "b"], ("b",)), (["x"], None), ([], ("a",))):
            status = {"authenticated": True, "user": USER, "audiences": accepted}
            found = verdict_of(review(status), V1BETA1, ("a", "b"), ("a", "c"))
            self.assertEqual(found.audiences if isinstance(found, Accepted) else None, common, accepted)
        refused = verdict_of(review({"authenticated": True, "user": USER}), V1BETA1, ("b",), ("a",))
        self.assertEqual(refused, Refused("webhook: the token is for other audiences"))

    def test_bad(self) -> None:
        """An answer that is not a TokenReview of the version sent is an error, never a user."""
        good = {"authenticated": True, "user": USER}
        for body in (
            b"",
            b"<html>",
            b"[]",
            b"[" * 100_000,
            review(good, "authentication.orch.io/v1"),
            review(good, kind="Status"),
            review("yes"),
            review({"authenticated": "true", "user": USER}),
            review({"authenticated": 1, "user": USER}),
            review({"authenticated": True, "user": []}),
            review({"authenticated": True, "user": {"username": 5}}),
            review({"authenticated": True, "user": {"groups": "system:masters"}}),
            review({"authenticated": True, "user": {"groups": [None]}}),
            review({"authenticated": True, "user": {"extra": {"k": "v"}}}),
            review({"authenticated": True, "audiences": "a"}),
        ):
            self.assertRaises(BadTokenReview, verdict_of, body, V1BETA1)


class CacheTests(SynchronousTestCase):
    """Caching of the webhook's answers (reference AUTHN-37)."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.bodies: list[bytes] = []
        self.pending: list[Deferred[bytes]] = []

    def method(self, ttl_s: float = 120) -> WebhookTokens:
        return WebhookTokens(
            self.ask, Verdicts(bytes(32), self.clock.seconds), api_version=V1BETA1, ttl_s=ttl_s, audiences=("a",)
        )

    def ask(self, body: bytes) -> Deferred[bytes]:
        self.bodies.append(body)
        asked: Deferred[bytes] = Deferred()
        self.pending.append(asked)
        return asked

    def begin(self, method: WebhookTokens, token: str = "t", *audiences: str) -> Deferred[Any]:
        """Ask, with an answer to come."""
        self.shown = shown = ShownToken(token=token, audiences=audiences or ("a",))

        async def found() -> Any:
            answer = method.find(shown)
            return answer if isinstance(answer, UserInfo) else await answer

        return ensureDeferred(found())

    def test_question(self) -> None:
        """Token and audiences are sent, in a whole object."""
        self.begin(self.method())
        self.assertEqual(
            orjson.loads(self.bodies[0]),
            {
                "kind": "TokenReview",
                "apiVersion": V1BETA1,
                "metadata": {"creationTimestamp": None},
                "spec": {"token": "t", "audiences": ["a"]},
                "status": {"user": {}},
            },
        )

    def test_both(self) -> None:
        """A user and a refusal hold for their time, then the webhook is asked again."""
        method = self.method()
        for status in ({"authenticated": True, "user": USER}, {"authenticated": False}):
            count = len(self.bodies)
            asked = self.begin(method, str(status))
            self.pending[-1].callback(review(status))
            asked.addErrback(lambda failure: failure.trap(Unauthorized))
            self.clock.advance(119)
            again = self.begin(method, str(status))
            self.assertTrue(again.called)
            again.addErrback(lambda failure: failure.trap(Unauthorized))
            self.assertEqual(len(self.bodies), count + 1)
            self.clock.advance(1)
            self.begin(method, str(status))
            self.assertEqual(len(self.bodies), count + 2)

    def test_other_audiences(self) -> None:
        """A cached answer for some audiences is not used for others (reference AUTHN-52)."""
        method = self.method()
        for audiences, accepted in ((("a",), ("a",)), (("x",), ("x",)), (("x", "y"), ("y",))):
            asked = self.begin(method, "t", *audiences)
            self.assertEqual(orjson.loads(self.bodies[-1])["spec"]["audiences"], list(audiences))
            self.pending[-1].callback(review({"authenticated": True, "user": USER, "audiences": list(accepted)}))
            self.assertEqual((self.successResultOf(asked), self.shown.accepted), (ALICE, accepted))
            self.assertEqual(self.successResultOf(self.begin(method, "t", *audiences)), ALICE)
            self.assertEqual(self.shown.accepted, accepted)
        self.assertEqual(len(self.bodies), 3)
        self.begin(method, "t", "xy")
        self.assertEqual(len(self.bodies), 4)

    def test_off(self) -> None:
        """With a time of zero every request is asked about."""
        method = self.method(0)
        for number in (1, 2):
            self.begin(method)
            self.pending[-1].callback(review({"authenticated": True, "user": USER}))
            self.assertEqual(len(self.bodies), number)

    def test_trouble(self) -> None:
        """A webhook that cannot be asked is a 401 and is not remembered."""
        method = self.method()
        asked = self.begin(method)
        self.pending[-1].errback(CallFailed("Post: no"))
        self.assertEqual(self.failureResultOf(asked, Unauthorized).value.why, "webhook: Post: no")
        self.begin(method)
        self.assertEqual(len(self.bodies), 2)

    def test_at_the_same_time(self) -> None:
        """Requests with one token share a call."""
        method = self.method()
        asked = [self.begin(method) for _ in range(3)]
        self.assertEqual(len(self.bodies), 1)
        self.pending[0].callback(review({"authenticated": True, "user": USER}))
        self.assertEqual([self.successResultOf(each) for each in asked], [ALICE] * 3)

    def test_so_many(self) -> None:
        """The number of concurrent calls is bounded; the next begins when one has ended or has no waiter left."""
        self.patch(webhook, "CALLS", 2)
        method = self.method()
        asked = [self.begin(method, str(number)) for number in range(4)]
        self.assertEqual(len(self.bodies), 2)
        asked[2].cancel()
        self.failureResultOf(asked[2], CancelledError)
        self.pending[0].callback(review({"authenticated": True, "user": USER}))
        self.assertEqual([orjson.loads(body)["spec"]["token"] for body in self.bodies], ["0", "1", "3"])

    def test_no_text(self) -> None:
        """A token that is not UTF-8 is refused without a call to the webhook."""
        self.failureResultOf(self.begin(self.method(), "\udcff"), Unauthorized)
        self.assertEqual(self.bodies, [])


class WebhookTests(CallerCase):
    """A real webhook over TLS: good, slow, failing, lying (reference AUTHN-36, AUTHN-37)."""

    def setUp(self) -> None:
        super().setUp()
        self.reply = {"kind": "TokenReview", "apiVersion": V1BETA1, "status": {"authenticated": True, "user": USER}}
        self.patch(retries, "FIRST_S", 0.001)

    def chain(self, **settings: Any) -> Any:
        """The chain of the flags, with the webhook's file."""
        path = Path(self.mktemp())
        path.write_bytes(
            orjson.dumps(
                {
                    "clusters": [
                        {
                            "name": "c",
                            "cluster": {
                                "server": f"{self.webhook.url}/tokens",
                                "certificate-authority-data": self.webhook.ca_bundle,
                            },
                        }
                    ],
                    "users": [{"name": "u", "user": {"token": "of-the-server"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        host = a_host(clock=reactor, caller=self.caller, key=os.urandom(32), random=Random(1))
        return chain(host, Config.of(authentication_token_webhook_config_file=path, **settings).authn)

    async def user(self, union: Any = None, token: str = "t") -> UserInfo:
        """Return the user whom the token identifies."""
        request = Request(
            method="GET",
            path="/",
            headers={"authorization": f"Bearer {token}"},
            peer=Peer(address="127.0.0.1", port=1),
        )
        found = (union or self.chain()).authenticate(request)
        return found if isinstance(found, UserInfo) else await found

    async def refused(self, union: Any = None, token: str = "t") -> None:
        """The token is a 401, never anonymous."""
        try:
            await self.user(union, token)
        except Unauthorized:
            return
        self.fail("somebody got in")

    async def test_good(self) -> None:
        """The webhook's word counts; it is shown this server's own credentials, and asked once."""
        union = self.chain()
        self.assertEqual(await self.user(union), ALICE)
        self.assertEqual(await self.user(union), ALICE)
        (asked,) = self.webhook.asked
        self.assertEqual((asked.method, asked.target), ("POST", "/tokens?timeout=30s"))
        self.assertEqual(asked.headers["authorization"], "Bearer of-the-server")
        audiences = ["https://orch.default.svc.cluster.local"]
        self.assertEqual(asked.json["spec"], {"token": "t", "audiences": audiences})

    async def test_v1(self) -> None:
        """Version and vocabulary are those of the flags."""
        self.reply = {"kind": "TokenReview", "apiVersion": "authentication.orch.io/v1", "status": {}}
        await self.refused(self.chain(authentication_token_webhook_version="v1"))
        self.assertEqual(self.webhook.asked[0].json["apiVersion"], "authentication.orch.io/v1")

    async def test_failing(self) -> None:
        """Errors and hang-ups are tried again, five times in all, and are then a 401."""
        for reply in (Reply(code=503), HANG_UP):
            self.reply, self.webhook.asked[:] = reply, []
            await self.refused(token=str(reply.code))
            self.assertGreaterEqual(len(self.webhook.asked), 5)

    async def test_recovers(self) -> None:
        """One success among errors is enough."""
        good, answers = self.reply, [Reply(code=500), Reply(code=429)]
        self.webhook.answer = lambda asked: answers.pop(0) if answers else good
        self.assertEqual(await self.user(), ALICE)

    async def test_lying(self) -> None:
        """A refusal, another version, invalid JSON and an oversized answer authenticate no one."""
        for reply in (
            Reply(code=403, body=orjson.dumps(self.reply)),
            Reply(body=b"{}"),
            {**self.reply, "apiVersion": "authentication.orch.io/v1"},
            Reply(body=b" " * (2 << 20) + orjson.dumps(self.reply)),
            Reply(body=orjson.dumps(self.reply), cut=20),
        ):
            self.reply = reply
            await self.refused(token=str(id(reply)))

    async def test_slow(self) -> None:
        """A client that disconnects while it waits ends the call to the webhook."""
        self.reply = Reply(silent=True)
        asked = ensureDeferred(self.user())
        await self.settled(lambda: self.webhook.asked)
        asked.addErrback(lambda failure: None)
        asked.cancel()
        await self.settled(lambda: not self.webhook.connections)

    async def test_late(self) -> None:
        """An answer that takes longer than a call may is a 401."""
        self.reply = Reply(silent=True)
        self.patch(retries, "CALL_S", 3.0)  # by then the question has come, however busy the machine
        await self.refused()
        self.assertEqual(len(self.webhook.asked), 1)

    async def test_static_tokens_first(self) -> None:
        """A token of the file is not asked about (reference AUTHN-3)."""
        file = Path(self.mktemp())
        file.write_text("t,bob,1\n")
        self.assertEqual((await self.user(self.chain(token_auth_file=file))).name, "bob")
        self.assertEqual(self.webhook.asked, [])

    async def test_long(self) -> None:
        """A token of 1 MiB is asked about like any other."""
        self.reply = {**self.reply, "status": {}}
        await self.refused(token="x" * (1 << 20))
        self.assertEqual(len(self.webhook.asked), 1)


class FlagTests(SynchronousTestCase):
    def test_file(self) -> None:
        """A file that is invalid ends the start with the flag's name."""
        path = Path(self.mktemp())
        config = Config.of(authentication_token_webhook_config_file=path).authn
        error = self.assertRaises(ConfigError, chain, a_host(), config)
        self.assertIn("--authentication-token-webhook-config-file: ", str(error))

    def test_others_go_on(self) -> None:
        """A source that refuses does not stop the next (reference AUTHN-3)."""

        class No:
            def find(self, shown: ShownToken) -> UserInfo | None:
                raise Unauthorized("not mine")

        class Later:
            def __init__(self, found: UserInfo | None) -> None:
                self.found = found

            async def find(self, shown: ShownToken) -> UserInfo | None:
                if self.found is None:
                    raise Unauthorized("nor mine")
                return self.found

        asked = Request(method="GET", path="/", headers={"authorization": "Bearer t"}, peer=Peer(address="", port=0))
        found = BearerTokens([No(), Later(None), No(), Later(ALICE)]).authenticate(attrs.evolve(asked))
        self.assertEqual(self.successResultOf(ensureDeferred(found)), ALICE)  # type: ignore[arg-type]
        failed: Deferred[Any] = ensureDeferred(BearerTokens([No(), Later(None)]).authenticate(asked))  # type: ignore[arg-type]
        why = self.failureResultOf(failed, Unauthorized).value.why
        self.assertEqual(why, "[invalid bearer token, not mine, nor mine]")
        self.assertEqual(Naming.kubernetes().api_version(V1BETA1), "authentication.k8s.io/v1beta1")
