"""A whole server in the test's process, and webhooks that it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.in_process import ClientAnswer
from tests.in_process import InProcessServer

reactor: Any = installed_reactor
MERGE = {"content-type": "application/merge-patch+json"}
MAPS = "/api/v1/namespaces/default/configmaps"


class WebhookCase(TestCase):
    """`settings` are fields of the server's configuration."""

    timeout = 180
    settings: dict[str, Any] = {"controllers": ("-*",)}

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp(), **self.settings)
        await self.server.start()
        self.addCleanup(self.server.stop)
        await self.created("/api/v1/namespaces", {"metadata": {"name": "default"}}, 201, 409)

    async def webhook(self, *resources: str, **settings: Any) -> AdmissionWebhook:
        """One that the server knows."""
        made = AdmissionWebhook(reactor, *resources, **settings)
        self.addCleanup(made.stop)
        await self.created(made.path, made.configuration)
        return made

    async def created(self, path: str, obj: Any, *codes: int) -> Any:
        """Create an object; returns it as it is answered."""
        answer = await self.server.request("POST", path, obj)
        self.assertIn(answer.code, codes or (201,), answer.body)
        return answer.json

    async def create_map(self, name: str = "x", query: str = "", **more: Any) -> ClientAnswer:
        """Create a ConfigMap, or try to."""
        obj = {"metadata": {"name": name, **more.pop("metadata", {})}, **more}
        return await self.server.request("POST", MAPS + query, obj)

    async def pause(self) -> None:
        """Let others have their turn."""
        await deferLater(reactor, 0.005)

    async def until(self, true: Callable[[], object]) -> None:
        """Wait for something to be true."""
        while not true():
            await self.pause()

    def assertStatus(self, answer: ClientAnswer, code: int, reason: str, message: str) -> None:
        """The answer is this refusal."""
        status = answer.json
        self.assertEqual(
            (answer.code, status.get("reason", ""), status["message"], status["code"]), (code, reason, message, code)
        )
