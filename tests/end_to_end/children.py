"""Python modules of the tests as child processes that say what they have come to, a word a line."""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from orchtw.testing.process import environment

LIMIT_S = 600.0


class Child(ProcessProtocol):
    """`python -m MODULE ARGUMENTS…`; `ended` fires at the end with what it has printed."""

    def __init__(self, reactor: Any, module: str, *arguments: str) -> None:
        self.ended: Deferred[str] = Deferred()
        self._reactor = reactor
        self._output = ""
        self._errors = ""
        self._awaited: tuple[str, Deferred[None]] | None = None
        command = [sys.executable, "-m", module, *arguments]
        reactor.spawnProcess(self, sys.executable, command, environment())

    async def says(self, word: str) -> None:
        """Wait for a line; RuntimeError with its errors when the child ends without it."""
        if word not in self._output.split("\n"):
            waiting: Deferred[None] = Deferred()
            self._awaited = word, waiting
            if self.ended.called:
                self._give_up()
            await waiting.addTimeout(LIMIT_S, self._reactor)

    async def kill(self) -> None:
        """End it if it runs."""
        if not self.ended.called and self.transport is not None:
            self.transport.signalProcess("KILL")
            await self.ended

    def outReceived(self, data: bytes) -> None:
        self._output += data.decode()
        if self._awaited is not None and self._awaited[0] in self._output.split("\n"):
            (_, waiting), self._awaited = self._awaited, None
            waiting.callback(None)

    def errReceived(self, data: bytes) -> None:
        self._errors += data.decode()

    def processEnded(self, reason: Failure) -> None:
        self.ended.callback(self._output)
        self._give_up()

    def _give_up(self) -> None:
        if self._awaited is not None:
            (word, waiting), self._awaited = self._awaited, None
            waiting.errback(RuntimeError(f"ended without {word!r}: {self._output}{self._errors}"))
