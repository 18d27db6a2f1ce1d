"""Calls that are tried again (reference AUTHN-36)."""

from __future__ import annotations

from random import Random
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound import retries
from orchtw.outbound.caller import LATE, CallFailed
from orchtw.outbound.remote import Remote


class Caller:
    """Fails as it is told, then answers; every call takes `takes_s`."""

    def __init__(self, clock: Clock, troubles: list[CallFailed], takes_s: float) -> None:
        self.clock = clock
        self.troubles = troubles
        self.takes_s = takes_s
        self.times: list[float] = []
        self.left: list[float] = []

    async def post(self, remote: Remote, body: bytes, *, timeout_s: float, left_s: float, limit_bytes: int) -> bytes:
        self.times.append(self.clock.seconds())
        self.left.append(left_s)
        self.clock.advance(self.takes_s)
        if self.troubles:
            raise self.troubles.pop(0)
        return b"answer"


class RetryTests(SynchronousTestCase):
    def ask(self, *troubles: CallFailed, takes_s: float = 0.0) -> Deferred[bytes]:
        """A call, and all the time it wants."""
        clock = Clock()
        self.caller = Caller(clock, list(troubles), takes_s)
        found = Deferred.fromCoroutine(
            retries.post(cast(Any, self.caller), Remote(url="https://h/"), b"{}", clock, Random(1))
        )
        for _ in range(100):
            clock.advance(0.1)
        return found

    def test_pauses(self) -> None:
        """Half a second, then half as much again each time, and up to a fifth more."""
        troubles = [CallFailed("lost"), *(CallFailed("x", code=code) for code in (500, 503, 429))]
        self.assertEqual(self.successResultOf(self.ask(*troubles)), b"answer")
        times = self.caller.times
        pauses = [after - before for before, after in zip(times, times[1:], strict=False)]
        for pause, least in zip(pauses, (0.5, 0.75, 1.125, 1.6875), strict=True):
            self.assertTrue(least <= pause <= least * 1.2 + 0.11, pauses)

    def test_five(self) -> None:
        """The fifth trouble is the last."""
        self.failureResultOf(self.ask(*(CallFailed(str(number), code=500) for number in range(9))), CallFailed)
        self.assertEqual(len(self.caller.times), 5)

    def test_lasting(self) -> None:
        """A refusal, a late answer, an untrusted certificate and a closed port are not retried."""
        for trouble in (
            CallFailed("x", code=404),
            CallFailed("x", LATE),
            CallFailed("x", "x509: certificate signed by unknown authority"),
            CallFailed("x", "dial tcp 127.0.0.1:1: connect: connection refused"),
            CallFailed("x", "dial tcp: lookup h: no such host"),
        ):
            self.failureResultOf(self.ask(trouble), CallFailed)
            self.assertEqual(len(self.caller.times), 1)

    def test_whole_time(self) -> None:
        """All tries together have a minute."""
        self.failureResultOf(self.ask(*[CallFailed("x", code=500)] * 5, takes_s=29), CallFailed)
        self.assertEqual(len(self.caller.times), 3)
        self.assertLess(self.caller.left[-1], 2)
