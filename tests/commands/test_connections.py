"""Bodies of answers: read as a whole, or read to the end with the start kept."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands import connections
from orchtw.commands.connections import Body
from orchtw.outbound.exchange import Broken, CallOutcome


class FakeExchange:
    """Exchange that gives its sink nothing by itself."""

    def read_into(self, sink: Any) -> None:
        """Take the sink of the body."""

    def pause(self) -> None:
        """Pause the connection, as for a slow reader."""

    def resume(self) -> None:
        """Resume the connection after a pause."""


class BodyTests(SynchronousTestCase):
    """A body that comes in pieces of ten bytes."""

    def setUp(self) -> None:
        exchange: Any = FakeExchange()
        self.body = Body(exchange)

    def feed(self, pieces: int, outcome: CallOutcome = CallOutcome.WHOLE) -> None:
        """Receive so many pieces, each after the one before has been read, and the end."""
        for number in range(pieces):
            self.body.received(b"%010d" % number)
        self.body.ended(outcome)

    def test_whole(self) -> None:
        """A short body is returned as it is."""
        reading = Deferred.fromCoroutine(self.body.whole())
        self.feed(3)
        self.assertEqual(self.successResultOf(reading), b"000000000000000000010000000002")

    def test_too_long(self) -> None:
        """A body longer than the limit is an error where the whole is asked for."""
        reading = Deferred.fromCoroutine(self.body.whole())
        with patch.object(connections, "SHORT_BYTES", 20):
            self.feed(3)
        self.failureResultOf(reading, Broken)

    def test_start(self) -> None:
        """A body of any length is read to its end, and its start is kept."""
        reading = Deferred.fromCoroutine(self.body.start(13))
        with patch.object(connections, "SHORT_BYTES", 20):
            self.feed(1000)
        self.assertEqual(self.successResultOf(reading), b"0000000000000")

    def test_truncated(self) -> None:
        """A body that breaks off is an error, however much of it was to be kept."""
        reading = Deferred.fromCoroutine(self.body.start(5))
        self.feed(2, CallOutcome.CUT)
        self.failureResultOf(reading, Broken)
