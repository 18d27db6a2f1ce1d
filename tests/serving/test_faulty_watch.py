"""Faults in the stream of a watch, between its member and its connection."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import InternalError
from orchtw.faults.rule import FaultRule, FaultSubject
from orchtw.faults.rules import FaultRules, Strike
from orchtw.request import RequestInfo
from orchtw.schema.codec.wire import delimited
from orchtw.serving.faulty_watch import JSON, PAUSE_S, PROTOBUF, FaultyWatch, WatchFormat, WatchStrikes, form_of
from orchtw.serving.watch_stream import WatchStream
from orchtw.watch.frame_messages import json_messages
from orchtw.watch.frames import ADDED, BOOKMARK, ERROR, protobuf_frame
from orchtw.watch.selection import Selection
from orchtw.watch.watcher import Watcher
from tests.serving.test_watch_stream import Channel
from tests.watch.watching import Watched, unchunk

TEXT = WatchFormat(json_messages, b"BOOKMARK", b"ERROR")
WATCH = RequestInfo(is_resource=True, verb="watch", path="")


class FaultyCase(SynchronousTestCase):
    """One watch of objects `a` and `b`, whose frames are lines of text."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.watched = Watched()
        self.watched.put("a", "aaaa")
        self.watched.put("b", "bbbb")
        self.channel = Channel()
        self.strikes: list[Strike] = []

    def strike(self, kind: str, **more: Any) -> Strike:
        """A fault that a rule has chosen."""
        rules = FaultRules(float)
        rules.add([FaultRule(kind=kind, **more)])
        (strike,) = rules.choose(rules.concerning("u", WATCH, any_state=False), FaultSubject(name=""))
        self.strikes.append(strike)
        return strike

    def start(self, since: int = 0, **strikes: Strike) -> FaultyWatch:
        """Start the watch with these faults."""
        watched = self.watched
        member = Watcher(watched.dispatcher, watched.timers, Selection(), watched.wire, since, bookmarks=True)
        stream = FaultyWatch(WatchStream(member), WatchStrikes(**strikes), self.clock, lambda frames: TEXT)
        stream.start(self.channel)
        return stream

    def put(self, key: str, value: str = "") -> None:
        """Change an object; the watch is written to."""
        self.watched.put(key, value)
        self.watched.flush()

    @property
    def lines(self) -> list[str]:
        """The lines that the client has got."""
        return [line.strip() for line in unchunk(self.channel.data).decode().splitlines()]

    @property
    def struck(self) -> list[int]:
        """Count of strikes of each rule."""
        return [strike.live.count.struck for strike in self.strikes]


class CutTests(FaultyCase):
    """Cuts in the middle of an event."""

    def test_cut(self) -> None:
        """After so many events half of the next one is sent, then the connection is reset."""
        self.start(cut=self.strike("cut", after_events=1))
        self.assertEqual(self.lines, ["ADDED a@1 aaaa", "ADDED b"])
        self.assertEqual((self.channel.calls[-1], self.struck), ("write", [1]))
        self.put("c")
        self.clock.advance(PAUSE_S)
        self.assertEqual((self.channel.calls[-1], self.lines[1:]), ("reset", ["ADDED b"]))
        self.assertEqual((self.watched.dispatcher.groups, self.clock.getDelayedCalls()), (0, []))

    def test_later(self) -> None:
        """A cut waits for its event, among those that others see whole."""
        self.start(cut=self.strike("cut", after_events=3))
        self.put("c", "cccc")
        self.assertEqual((len(self.lines), self.struck), (3, [0]))
        self.put("d", "dddd")
        self.clock.advance(PAUSE_S)
        self.assertEqual((self.lines[3:], self.channel.calls[-1]), (["ADDED d"], "reset"))

    def test_large(self) -> None:
        """An event that comes in pieces is cut as well."""
        self.watched.put("large", "x" * 100_000)
        self.start(since=2, cut=self.strike("cut"))
        self.clock.advance(PAUSE_S)
        self.assertEqual((len(unchunk(self.channel.data)) // 1000, self.struck), (50, [1]))

    def test_never(self) -> None:
        """A watch that ends before gives the fault back, however it ends."""
        for end in ("connection_lost", "stopProducing", "finish"):
            self.channel = Channel()
            stream = self.start(cut=self.strike("cut", after_events=9))
            getattr(stream, end)()
            self.assertTrue(self.strikes[-1].live.count.choose())
        self.assertEqual((self.struck, self.channel.calls[-1]), ([0, 0, 0], "finish"))

    def test_client_leaves(self) -> None:
        """A client that leaves between the half event and the reset is left alone."""
        stream = self.start(cut=self.strike("cut"))
        stream.connection_lost()
        self.clock.advance(PAUSE_S)
        self.assertNotIn("reset", self.channel.calls)
        self.assertEqual(self.struck, [1])


class ExpiryTests(FaultyCase):
    """Error events with code 410."""

    def test_expired(self) -> None:
        """After so many events an ERROR 410 comes, and the end; what is written in that turn is dropped."""
        self.start(expired=self.strike("expired", in_stream=True, after_events=1))
        self.put("c")
        self.assertEqual(self.lines, ["ADDED a@1 aaaa"])
        self.clock.advance(0)
        self.assertEqual(len(self.lines), 2)
        self.assertTrue(self.lines[1].startswith("ERROR 410 too old resource version: "), self.lines)
        self.assertEqual((self.channel.calls[-1], self.struck), ("finish", [1]))
        self.assertEqual((self.watched.dispatcher.groups, self.clock.getDelayedCalls()), (0, []))

    def test_at_once(self) -> None:
        """Without events to wait for, the error is all that the client gets."""
        self.start(expired=self.strike("expired", in_stream=True, message="so old"))
        self.clock.advance(0)
        self.assertEqual(self.lines, ["ERROR 410 so old"])

    def test_ended_before(self) -> None:
        """A watch that ends in the same turn gives the fault back."""
        stream = self.start(expired=self.strike("expired", in_stream=True))
        stream.connection_lost()
        self.clock.advance(0)
        self.assertEqual((self.lines, self.struck), ([], [0]))

    def test_first_of_two(self) -> None:
        """Of a cut and an expiry the earlier comes about, and the other is given back."""
        expired = self.strike("expired", in_stream=True, after_events=2)
        self.start(cut=self.strike("cut", after_events=1), expired=expired)
        self.clock.advance(PAUSE_S)
        self.assertEqual((self.struck, self.channel.calls[-1]), ([0, 1], "reset"))

    def test_real_error(self) -> None:
        """An error of the server's own passes, whatever the rules say."""
        stream = self.start(since=2, cut=self.strike("cut"))
        stream.member.fail(InternalError("so it is"))
        self.assertEqual((self.lines, self.channel.calls[-1]), (["ERROR 500 so it is"], "finish"))
        self.assertEqual(self.struck, [0])


class BookmarkTests(FaultyCase):
    """Bookmarks that are dropped or come late."""

    def tick(self) -> None:
        """Let the time of a bookmark come."""
        self.watched.timers.tick(self.watched.timers.now + 60)

    def test_untouched(self) -> None:
        """Without a rule about them, bookmarks pass and do not count as events."""
        self.start(since=2, cut=self.strike("cut", after_events=1))
        self.tick()
        self.put("c")
        self.assertEqual(self.lines, ["BOOKMARK 2", "ADDED c@3"])

    def test_dropped(self) -> None:
        """Without a wait all bookmarks of the watch are dropped, which counts once."""
        self.start(since=2, bookmarks=self.strike("bookmarks"))
        for _ in range(3):
            self.tick()
        self.put("c")
        self.clock.advance(1000)
        self.assertEqual((self.lines, self.struck), (["ADDED c@3"], [1]))

    def test_late(self) -> None:
        """A late bookmark has the version of its own time: it never goes back behind events."""
        self.start(since=2, bookmarks=self.strike("bookmarks", seconds=5.0))
        self.tick()
        self.clock.advance(4)
        self.put("c")
        self.assertEqual(self.lines, ["ADDED c@3"])
        self.clock.advance(1)
        self.assertEqual(self.lines, ["ADDED c@3", "BOOKMARK 3"])
        self.tick()
        self.clock.advance(5)
        self.assertEqual((self.lines[2:], self.struck), (["BOOKMARK 3"], [1]))

    def test_late_and_gone(self) -> None:
        """A watch that ends while a bookmark is late leaves no timer behind."""
        stream = self.start(since=2, bookmarks=self.strike("bookmarks", seconds=5.0))
        self.tick()
        stream.connection_lost()
        self.assertEqual(self.clock.getDelayedCalls(), [])


class BackpressureTests(FaultyCase):
    """Clients that read slowly, or stop."""

    def test_paused(self) -> None:
        """A full connection pauses the member, as without faults."""
        self.channel.full = True
        stream = self.start(cut=self.strike("cut", after_events=9))
        self.put("c")
        self.assertEqual(len(self.lines), 2)
        stream.resumeProducing()
        self.assertEqual(len(self.lines), 3)


class FormatTests(SynchronousTestCase):
    """Frames of both formats (`JSON`, `PROTOBUF`)."""

    def test_json(self) -> None:
        """Lines of JSON are told apart by the type at their start."""
        frames = [b'{"type":"%b","object":{"a":"BOOKMARK"}}\n' % kind for kind in (b"ADDED", b"BOOKMARK", b"ERROR")]
        self.assertEqual((list(JSON.split(b"".join(frames))), form_of(b"".join(frames))), (frames, JSON))
        self.assertEqual([(JSON.is_bookmark(each), JSON.is_error(each)) for each in frames],
                         [(False, False), (True, False), (False, True)])  # fmt: skip

    def test_protobuf(self) -> None:
        """Length-delimited events are told apart by their first field, and kept with their lengths."""
        frames = [protobuf_frame(kind, delimited(1, BOOKMARK.encode())) for kind in (ADDED, BOOKMARK, ERROR)]
        self.assertEqual((list(PROTOBUF.split(b"".join(frames))), form_of(b"".join(frames))), (frames, PROTOBUF))
        self.assertEqual([(PROTOBUF.is_bookmark(each), PROTOBUF.is_error(each)) for each in frames],
                         [(False, False), (True, False), (False, True)])  # fmt: skip
