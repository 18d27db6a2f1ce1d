"""Webhooks of conversion that are slow, dead or lie, and servers that end meanwhile (reference CRD-24)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from orchtw.testing.webhook import HANG_UP, Reply, WebhookServer
from tests.end_to_end.case import reactor
from tests.end_to_end.conversion_case import DEFINITIONS, WebhookCase
from tests.end_to_end.routes import answer, by_webhook


class RestartTests(WebhookCase):
    """A server of its own, which is killed."""

    flags = ("--enable-garbage-collector=true",)

    async def test_dead_webhook(self) -> None:
        """A start needs no webhook, and objects in older versions go with their definition (reference CRD-40)."""
        await self.define_by_webhook("v1beta1")
        await self.created(self.path("v1beta1"), self.route("v1beta1"))
        await self.store_in("v1")
        await self.webhook.stop()
        await self.server.kill9()
        await self.server.start()
        self.client = self.new_client()
        await self.until(self.path("v1beta1"), 200)
        self.assertEqual(await self.spec("v1beta1"), {"host": "h", "port": 80})
        self.assertEqual((await self.client.get(self.path("v1", "a"))).code, 500)
        self.webhook.start()
        self.assertEqual(await self.spec("v1"), {"address": {"host": "h", "port": 80}})
        await self.webhook.stop()
        path = f"{DEFINITIONS}/routes.{self.crd_group}"
        self.assertEqual((await self.client.delete(path)).code, 200)
        await self.until(path, 404)
        await self.until(self.path("v1beta1"), 404)


class EndTests(WebhookCase):
    """The end of a server whose webhook takes its time."""

    # The time of a request is that of the server's end, too: enough for a busy machine to get as far as that.
    flags = ("--controllers=*,-root-ca-cert-publisher", "--request-timeout=4s")

    async def test_slow_webhook(self) -> None:
        """Requests that wait for a webhook get its answer, or a 504 at their timeout; then all ends in
        order (reference OPS-14, LIMIT-2).
        """
        await self.define_by_webhook()
        for name in ("late", "never"):
            await self.created(self.path("v1"), self.route("v1", name))
        gate, asked = Deferred[None](), list[str]()

        async def slow(question: Any) -> Any:
            names = [each["metadata"]["name"] for each in question.json["request"]["objects"]]
            asked.extend(names)
            await (gate if names == ["late"] else Deferred())
            return answer(question)

        self.webhook.answer = slow
        paths = self.path("v1beta1", "late"), self.path("v1beta1", "never")
        late, never = (Deferred.fromCoroutine(self.client.get(each)) for each in paths)
        watch = Deferred.fromCoroutine(self.client.watch(f"{self.path('v1beta1')}?watch=1"))
        watch.addBoth(lambda _: None)
        while len(asked) < len(paths):
            await deferLater(reactor, 0.01, lambda: None)
        ended = Deferred.fromCoroutine(self.server.terminate())
        while "shutdown: no new connections" not in self.server.log:
            await deferLater(reactor, 0.01, lambda: None)
        gate.callback(None)
        self.assertEqual((await late).json["spec"], {"host": "h", "port": 80})
        text = "Timeout: request did not complete within the allotted timeout"
        self.assertRefused(await never, 504, "Timeout", text)
        self.assertEqual(await ended, 0)
        await watch

    def no_tracebacks(self) -> None:
        """The server has ended, and has not said that anything was wrong."""
        self.assertNotIn("Traceback", self.server.log)


class BadWebhookTests(WebhookCase):
    """Webhooks that are slow, lie, hang up, or cannot be believed."""

    async def test_bad_answers(self) -> None:
        """Each is a 500 that says what is wrong, and the next good answer is taken (reference CRD-24)."""
        await self.define_by_webhook()
        await self.created(self.path("v1"), self.route("v1"))
        url = f"{self.webhook.url}/convert?timeout=30s"
        late = "unexpected error when reading response body. Please retry. Original error: unexpected EOF"

        def lying(asked: Any) -> Any:
            found = answer(asked)
            found["response"]["convertedObjects"][0]["metadata"]["name"] = "b"
            return found

        cases: list[tuple[Any, str]] = [
            (lying, "returned invalid object: must have the same name: a != b"),
            (lambda asked: HANG_UP, f'failed: Post "{url}": EOF'),
            (lambda asked: Reply(body=b'{"kind":', cut=4), f"failed: {late}"),
            (lambda asked: Reply(code=404), "failed: the server could not find the requested resource"),
            (lambda asked: Reply(half_closed=True, raw=b""), f'failed: Post "{url}": EOF'),
        ]
        for reply, why in cases:
            self.webhook.answer = reply
            answered = await self.client.get(self.path("v1beta1", "a"))
            self.assertRefused(answered, 500, "", self.failed(why))
        self.webhook.answer = answer
        self.assertEqual(await self.spec("v1beta1"), {"host": "h", "port": 80})

    async def test_slow(self) -> None:
        """While a webhook thinks, others are served, and those who want the same wait for one call
        (reference CRD-42).
        """
        await self.define_by_webhook()
        await self.created(self.path("v1"), self.route("v1"))
        gate: Deferred[None] = Deferred()

        async def slow(asked: Any) -> Any:
            await gate
            return answer(asked)

        self.webhook.answer = slow
        waiting = [Deferred.fromCoroutine(self.spec("v1beta1")) for _ in range(5)]
        while not self.webhook.asked:
            await deferLater(reactor, 0.01, lambda: None)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "h", "port": 80}})
        self.assertEqual((await self.client.get("/api/v1/namespaces")).code, 200)
        gate.callback(None)
        for each in waiting:
            self.assertEqual(await each, {"host": "h", "port": 80})
        self.assertEqual(len(self.webhook.asked), 1)

    async def test_too_slow(self) -> None:
        """A read that waits longer than it wants to is a 504, and is traced like every slow request
        (reference LIMIT-2, ERR-37, OPS-26).
        """
        await self.define_by_webhook()
        await self.created(self.path("v1"), self.route("v1"))
        gate: Deferred[None] = Deferred()

        async def slow(asked: Any) -> Any:
            await gate
            return answer(asked)

        self.webhook.answer = slow
        for path in (self.path("v1beta1", "a"), self.path("v1beta1")):
            answered = await self.client.get(f"{path}?timeout=600ms")
            text = "Timeout: request did not complete within the allotted timeout"
            self.assertRefused(answered, 504, "Timeout", text)
            self.assertEqual(answered.headers["content-type"], "application/json")
            while f'url:"{path}"' not in self.server.log:
                await deferLater(reactor, 0.01, lambda: None)
        self.assertIn("] END", self.server.log)
        gate.callback(None)
        self.assertEqual(await self.spec("v1beta1"), {"host": "h", "port": 80})

    async def test_wrong_certificate(self) -> None:
        """A webhook whose certificate is for another host, too old, or of another authority is not believed
        (reference CRD-24).
        """
        await self.define_by_webhook()
        await self.created(self.path("v1"), self.route("v1"))
        for more in ({"hosts": ("elsewhere.example.com",)}, {"age": timedelta(days=3)}, {}):
            bad = WebhookServer(reactor, answer, **more)
            self.addCleanup(bad.stop)
            config = bad.client_config("/convert")
            if not more:
                config["caBundle"] = self.webhook.ca_bundle
            await self.redefine(conversion=by_webhook(config))
            answered = await self.client.get(self.path("v1beta1", "a"))
            while bad.url not in answered.json.get("message", ""):
                await deferLater(reactor, 0.02, lambda: None)
                answered = await self.client.get(self.path("v1beta1", "a"))
            self.assertEqual((answered.code, len(bad.asked)), (500, 0), answered)
            self.assertIn(": x509: c", answered.json["message"])
