"""Calls to webhooks for real, on this machine (reference HOOK-10)."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.trial.unittest import TestCase

from orchtw.outbound.caller import Caller, CallFailed
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.testing.webhook import HANG_UP, Asked, WebhookServer
from tests.outbound.doubles import Cluster

reactor: Any = installed_reactor


class CallerCase(TestCase):
    """A caller, and a webhook that says what it was asked."""

    def setUp(self) -> None:
        self.cluster = Cluster()
        own = ServiceReference(namespace="default", name="orch")
        self.caller = Caller(reactor, Resolver(self.cluster, own, Random(1)), "orch-apiserver/v1.24.0")
        self.addCleanup(self.caller.stopService)
        self.reply: Any = {"ok": True}
        self.webhook = self.new_webhook()
        self.remote = Remote.of_client_config(self.webhook.client_config("/convert"))

    def new_webhook(self, **settings: Any) -> WebhookServer:
        made = WebhookServer(reactor, self.answer, **settings)
        self.addCleanup(made.stop)
        return made

    def answer(self, _asked: Asked) -> Any:
        return self.reply

    async def trouble(self, remote: Remote | None = None, *, timeout_s: float = 5.0, limit_bytes: int = 1000) -> str:
        """What is wrong with a call."""
        try:
            await self.caller.post(remote or self.remote, b"{}", timeout_s=timeout_s, limit_bytes=limit_bytes)
        except CallFailed as problem:
            return str(problem)
        raise AssertionError("the call has succeeded")


class CallTests(CallerCase):
    """What is sent, and by which connection."""

    async def test_post(self) -> None:
        """A POST of JSON with the time in its URL; nothing is asked to be compressed."""
        self.assertEqual(await self.caller.post(self.remote, b'{"a":1}', timeout_s=30), b'{"ok":true}')
        (asked,) = self.webhook.asked
        self.assertEqual((asked.method, asked.target, asked.json), ("POST", "/convert?timeout=30s", {"a": 1}))
        self.assertEqual(asked.headers["content-type"], "application/json")
        self.assertEqual(asked.headers["accept"], "application/json, */*")
        self.assertEqual(asked.headers["user-agent"], "orch-apiserver/v1.24.0")
        self.assertEqual(asked.headers["host"], f"127.0.0.1:{self.webhook.port}")
        self.assertNotIn("accept-encoding", asked.headers)

    async def test_kept(self) -> None:
        """Calls one after the other share a connection."""
        for _ in range(3):
            await self.caller.post(self.remote, b"{}", timeout_s=5)
        self.assertEqual((self.webhook.accepted, len(self.webhook.asked)), (1, 3))

    async def test_stale(self) -> None:
        """A kept connection that turns out to be closed is replaced, and the call made again."""
        await self.caller.post(self.remote, b"{}", timeout_s=5)
        first = iter([HANG_UP])
        self.webhook.answer = lambda asked: next(first, {})
        self.assertEqual(await self.caller.post(self.remote, b"{}", timeout_s=5), b"{}")
        self.assertEqual(self.webhook.accepted, 2)
