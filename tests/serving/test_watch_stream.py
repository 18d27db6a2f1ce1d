"""A watch stream on its connection: producer first, backpressure, the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.interfaces import IPushProducer
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from orchtw.request import Ending, chunks
from orchtw.serving.watch_stream import WatchStream
from orchtw.watch.selection import Selection
from orchtw.watch.watcher import Watcher
from tests.watch.watching import Watched, unchunk


class Channel:
    """A connection that records; `full` makes it pause its producer inside `write`."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.data = b""
        self.full = False
        self.producer: Any = None

    def write(self, framed: bytes) -> None:
        self.calls.append("write")
        self.data += framed
        if self.full:
            self.producer.pauseProducing()

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        self.write(chunks(pieces))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        assert streaming
        self.calls.append("register")
        self.producer = producer

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        self.calls.append("finish")

    def abort(self) -> None:
        self.calls.append("abort")

    def reset(self) -> None:
        self.calls.append("reset")


class WatchStreamTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.watched = Watched()
        self.watched.put("a")
        dispatcher, timers = self.watched.dispatcher, self.watched.timers
        self.stream = WatchStream(Watcher(dispatcher, timers, Selection(), self.watched.wire, 0, deadline=5.0))
        self.channel = Channel()

    def test_producer_first(self) -> None:
        """The producer is registered before the first byte is written."""
        verifyObject(IPushProducer, self.stream)
        self.stream.start(self.channel)
        self.assertEqual(self.channel.calls, ["register", "write"])

    def test_slow_client_costs_a_cursor(self) -> None:
        """A paused stream writes nothing; resumed, it catches up in one write."""
        self.channel.full = True
        self.stream.start(self.channel)
        for key in "bcd":
            self.watched.put(key)
            self.watched.flush()
        self.assertEqual(self.channel.calls, ["register", "write"])
        self.stream.resumeProducing()
        self.assertEqual(self.channel.calls, ["register", "write", "write"])
        self.assertEqual(unchunk(self.channel.data), b"ADDED a@1 \nADDED b@2 \nADDED c@3 \nADDED d@4 \n")

    def test_deadline(self) -> None:
        """At its deadline the stream finishes its response in order."""
        self.stream.start(self.channel)
        self.watched.timers.tick(5.0)
        self.assertEqual(self.channel.calls[-1], "finish")

    def test_connection_lost(self) -> None:
        """A lost connection leaves nothing behind and is not written to."""
        self.stream.start(self.channel)
        self.stream.connection_lost()
        self.watched.put("b")
        self.watched.flush()
        self.stream.stopProducing()
        self.assertEqual((self.channel.calls, self.watched.dispatcher.groups), (["register", "write"], 0))
