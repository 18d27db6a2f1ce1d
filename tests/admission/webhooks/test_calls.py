"""Calls of webhooks: in what time, when not at all, and for whom (reference HOOK-14, HOOK-16, HOOK-23)."""

from __future__ import annotations

from typing import Any, cast

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.answer import ReviewAnswer
from orchtw.admission.webhooks.calls import Calls
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.refusals import CallingFailed
from orchtw.admission.webhooks.views import WebhookView
from orchtw.errors import BadRequest, Forbidden, Timeout
from orchtw.outbound.caller import CallFailed
from orchtw.request import UserInfo
from tests.admission.asked import CODECS, NAMING, attributes, request
from tests.admission.webhooks.hooks import hook, rule


class Caller:
    """Records what it is asked, and answers what a test says, or never."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, dict[str, Any]]] = []
        self.waiting: Deferred[bytes] = Deferred()

    async def post(self, _remote: Any, body: bytes, **settings: Any) -> bytes:
        self.asked.append((body, settings))
        return await self.waiting

    def answer(self, **response: Any) -> None:
        review = orjson.loads(self.asked[-1][0])
        response = {"uid": review["request"]["uid"], **response}
        self.waiting.callback(orjson.dumps({**review, "response": response}))


class CallsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.caller, self.clock = Caller(), Clock()
        self.calls = Calls(cast("Any", self.caller), self.clock, NAMING, CODECS, mutating=True)
        self.request = request()

    def ask(self, found: Hook | None = None, **more: Any) -> Deferred[ReviewAnswer]:
        asked = self.write(**more)
        return Deferred.fromCoroutine(self.calls.ask(found or hook(rule("pods")), WebhookView(asked, 0), asked))

    def write(self, **more: Any) -> Attributes:
        obj = {"metadata": {"name": "x"}}
        return attributes("CREATE", "pods", **{"obj": obj, "request": self.request, **more})

    def test_answer(self) -> None:
        """The answer is what the webhook says; who asks is named, and there is a bound for what comes."""
        asking = self.ask()
        ((_, settings),) = self.caller.asked
        self.assertEqual((settings["agent"], settings["limit_bytes"]), ("orch-apiserver-admission", 6 << 20))
        self.assertNoResult(asking)
        self.caller.answer(allowed=True)
        self.assertTrue(self.successResultOf(asking).allowed)

    def test_times(self) -> None:
        """The time is the webhook's, or what is left of the request's, of which the URL says whole seconds."""
        for left_s, shown in ((None, (10, 10)), (60.0, (10, 10)), (2.5, (3, 2.5)), (0.1, (1, 0.1))):
            self.request.ends_at_s = None if left_s is None else self.clock.seconds() + left_s
            self.ask()
            settings = self.caller.asked[-1][1]
            self.assertEqual((settings["timeout_s"], settings["left_s"]), shown)

    def test_too_late(self) -> None:
        """A request whose time is over, or whose client has left, asks nobody (reference HOOK-30)."""
        self.request.ends_at_s = self.clock.seconds()
        self.failureResultOf(self.ask(), Timeout)
        self.request.ends_at_s = None
        self.request.left()
        self.failureResultOf(self.ask(), Timeout)
        self.assertEqual(self.caller.asked, [])

    def test_leaving(self) -> None:
        """A client that leaves while a webhook is asked ends the call."""
        asking = self.ask()
        self.request.left()
        failure = self.failureResultOf(asking, Timeout)
        text = "Timeout: request did not complete within requested timeout"
        self.assertEqual((failure.value.code, failure.value.message), (504, text))

    def test_nobody(self) -> None:
        """The server's own writes have no client that could leave, and no end."""
        asking = self.ask(request=None)
        self.caller.answer(allowed=False)
        self.assertFalse(self.successResultOf(asking).allowed)

    def test_dry_run(self) -> None:
        """A webhook with effects is not asked in a dry run, others are (reference HOOK-16, WRITE-22)."""
        for effects in ("Some", "Unknown"):
            asking = self.ask(hook(rule("pods"), sideEffects=effects, failurePolicy="Ignore"), dry_run=True)
            failure = self.failureResultOf(asking, BadRequest)
            self.assertEqual(failure.value.message, 'admission webhook "a.b.c" does not support dry run')
            self.assertNoResult(self.ask(hook(rule("pods"), sideEffects=effects)))
        for effects in ("None", "NoneOnDryRun"):
            self.assertNoResult(self.ask(hook(rule("pods"), sideEffects=effects), dry_run=True))

    def test_failures(self) -> None:
        """The reason for a missing answer is given with the webhook's name (reference HOOK-21, HOOK-23)."""
        reviews = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        asking = self.ask(hook(rule("pods"), admissionReviewVersions=["v9"]))
        failure = self.failureResultOf(asking, CallingFailed)
        text = f'failed calling webhook "a.b.c": could not create admission objects: {reviews}'
        self.assertEqual(str(failure.value), text)
        failure = self.failureResultOf(self.ask(user=UserInfo(name="\ud800")), CallingFailed)
        self.assertIn("could not create admission objects: ", str(failure.value))
        asking = self.ask()
        self.caller.waiting.errback(CallFailed("Post: no", "no", code=503))
        failure = self.failureResultOf(asking, CallingFailed)
        self.assertEqual(
            (str(failure.value), failure.value.code),
            ('failed calling webhook "a.b.c": failed to call webhook: Post: no', 503),
        )
        self.assertEqual(failure.value.refusal().code, 500)


class NotReadyTests(SynchronousTestCase):
    def test_refused(self) -> None:
        """Until the configurations are known, writes are refused (reference ADM-7)."""
        from orchtw.admission.webhooks.known import Webhooks

        class Unknown:
            ready = False

            async def settled(self) -> bool:
                return False

        webhooks = Webhooks.__new__(Webhooks)
        webhooks._configurations = cast("Any", Unknown())
        webhooks._own = NAMING.api_server_user
        failure = self.failureResultOf(
            Deferred.fromCoroutine(webhooks.selected(attributes("CREATE", "pods"))), Forbidden
        )
        self.assertEqual(failure.value.message, 'pods "x" is forbidden: not yet ready to handle request')
        own = attributes("CREATE", "pods", user=UserInfo(name=NAMING.api_server_user))
        self.assertIsNone(self.successResultOf(Deferred.fromCoroutine(webhooks.selected(own))))
