"""Base of verb tests: a server, and responses that must have a code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.testing.in_process import ClientAnswer
from tests.in_process import InProcessServer


class Case(TestCase):
    """Tests with a server of their own, in this process."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.folder = Path(self.mktemp())
        self.server = InProcessServer(reactor, self.folder)
        await self.server.start()
        self.addCleanup(lambda: self.server.stop())  # which may be another one by then

    async def send(
        self, method: str, url: str, code: int, body: Any = None, headers: dict[str, str] | None = None
    ) -> ClientAnswer:
        """An answer, which must have this code."""
        answer = await self.server.request(method, url, body, headers)
        self.assertEqual(answer.code, code, answer.body[:1000])
        return answer

    async def ask(self, method: str, url: str, body: Any = None, code: int = 200, **headers: str) -> Any:
        """Return the JSON of a response that must have this code; header names have underscores for hyphens."""
        answer = await self.send(method, url, code, body, {k.replace("_", "-"): v for k, v in headers.items()})
        return answer.json

    async def message(self, method: str, url: str, code: int, body: Any = None) -> str:
        """The text of a refusal."""
        text: str = (await self.send(method, url, code, body)).json["message"]
        return text
