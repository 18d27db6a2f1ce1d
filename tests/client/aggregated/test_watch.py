"""Watches on what aggregated API servers store (reference AGG-17)."""

from __future__ import annotations

from typing import Any

import orjson

from orchtw.client.aggregated.watch import EVENT_BYTES, LEAST_S, POLL_S
from orchtw.client.interface import Item
from orchtw.errors import Expired, StatusError
from tests.client.aggregated.servers import PATH, AggregatedCase, Stream, widget


def event(kind: str, obj: Any) -> bytes:
    """Return an encoded watch event."""
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"


class Told:
    """A receiver that remembers; it fails if it is to."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.ends: list[StatusError | None] = []
        self.fails = False

    def changed(self, item: Item) -> None:
        if self.fails:
            raise RuntimeError("fault")
        self.events.append(("changed", item.name))

    def removed(self, item: Item) -> None:
        self.events.append(("removed", item.name))

    def ended(self, error: StatusError | None) -> None:
        self.ends.append(error)


class WatchTests(AggregatedCase):
    def begin(self) -> tuple[Any, Told]:
        """A watch that has begun."""
        told = Told()
        watch = self.client.watch(self.widgets, "9", told)
        return watch, told

    @property
    def stream(self) -> Stream:
        return self.server.streams[-1]

    def test_events(self) -> None:
        """Events are delivered as they arrive, in whatever pieces; bookmarks and empty lines are ignored."""
        _, told = self.begin()
        self.assertRegex(
            self.server.asked[-1][0],
            rf"\AGET {PATH}/widgets\?watch=true&resourceVersion=9&timeoutSeconds=[345]\d\d\Z",
        )
        frames = event("ADDED", widget("one")) + b"\n" + event("BOOKMARK", {}) + event("DELETED", widget("one"))
        for at in range(len(frames)):
            self.stream.send(frames[at : at + 1])
        self.stream.send(event("MODIFIED", widget("two")) + event("ADDED", widget("three")))
        wanted = [("changed", "one"), ("removed", "one"), ("changed", "two"), ("changed", "three")]
        self.assertEqual(told.events, wanted)

    def test_end(self) -> None:
        """The end of a watch is delivered LEAST_S after its beginning at the earliest, so retries do not spin."""
        _, told = self.begin()
        self.stream.send(event("ADDED", widget("one")))
        self.stream.close()
        self.clock.advance(LEAST_S / 2)
        self.assertEqual(told.ends, [])
        self.clock.advance(LEAST_S)
        self.assertEqual(told.ends, [None])

    def test_no_watches(self) -> None:
        """Where there are no watches a list is due every POLL_S: ended at once, refused, or something else."""
        widgets = self.widgets
        another = b'{"kind":"WidgetList","items":[]}\n'
        for code, data in ((200, b""), (200, another), (405, b""), (404, b""), (500, b"")):
            self.server.answers["WATCH"] = (code, b"")
            told = Told()
            self.client.watch(widgets, "9", told)
            if code == 200:
                self.stream.send(data)
                self.stream.close()
            self.clock.advance(POLL_S - 0.1)
            self.assertEqual(told.ends, [])
            self.clock.advance(0.1)
            self.assertIsInstance(told.ends[0], Expired)

    def test_expired(self) -> None:
        """An ERROR event ends the watch; a 410 asks for a new list."""
        _, told = self.begin()
        self.stream.send(event("ERROR", {"kind": "Status", "code": 410, "reason": "Gone"}))
        self.assertTrue(self.stream.aborted)
        self.clock.advance(LEAST_S)
        self.assertIsInstance(told.ends[0], Expired)

    def test_hostile(self) -> None:
        """A frame that is not an event ends the watch, and so does one that is too large."""
        events = event("ADDED", {}), event("ERROR", 7), event("?", widget("one"))
        for data in (b"{\n", b"[]\n", b'{"type": 1}\n', *events, b"x" * (EVENT_BYTES + 1)):
            _, told = self.begin()
            self.stream.send(data)
            self.stream.send(event("ADDED", widget("late")))
            self.clock.advance(POLL_S)
            self.assertEqual((len(told.ends), told.events), (1, []))
            self.assertTrue(self.stream.aborted)

    def test_refused(self) -> None:
        """A server that does not answer, or has too much to do, ends the watch with an error: it is asked again."""
        widgets = self.widgets
        for code in (503, 429, 504):
            self.server.answers["WATCH"] = (code, b"")
            told = Told()
            self.client.watch(widgets, "9", told)
            self.clock.advance(LEAST_S)
            self.assertEqual([error.code for error in told.ends if error], [code])
        self.server.down, told = True, Told()
        self.client.watch(widgets, "9", told)
        self.clock.advance(LEAST_S)
        self.assertEqual([error.code for error in told.ends if error], [503])

    def test_receiver_fails(self) -> None:
        """A receiver that fails lists anew."""
        _, told = self.begin()
        told.fails = True
        self.stream.send(event("ADDED", widget("one")))
        self.clock.advance(LEAST_S)
        self.assertIsInstance(told.ends[0], Expired)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_stop(self) -> None:
        """After a stop no event is delivered, and no state remains."""
        watch, told = self.begin()
        watch.stop()
        self.assertTrue(self.stream.aborted)
        self.stream.send(event("ADDED", widget("one")))
        self.stream.close()
        self.clock.advance(LEAST_S)
        self.assertEqual((told.events, told.ends), ([], []))
