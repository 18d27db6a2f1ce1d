"""Requests and responses as values: parameters, header lines, leaving clients, listeners of a response's end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import (
    MOST_STEPS,
    SHORT_BYTES,
    Ending,
    Peer,
    Request,
    Response,
    ResponseChannel,
    chunk,
    chunks,
    is_short,
    utf8_text,
)


def request(**known: Any) -> Request:
    """Return a GET of a path, with what else is known of it."""
    return Request(**{"method": "GET", "path": "/", "peer": Peer(address="192.0.2.1", port=1), **known})


class Stream:
    """A body over time whose connection is lost once, with an error if it is `broken`."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.lost = 0

    def start(self, channel: ResponseChannel) -> None:
        raise AssertionError("the response was dropped")

    def connection_lost(self) -> None:
        self.lost += 1
        if self.broken:
            raise RuntimeError("broken stream")


class ParameterTests(SynchronousTestCase):
    """Query parameters of requests."""

    def test_values(self) -> None:
        """Values are decoded, a parameter without a value is the empty string, and the first of several counts."""
        asked = request(query="a=1&a=2&b&c=%2Fx+y")
        self.assertEqual(asked.params, {"a": ["1", "2"], "b": [""], "c": ["/x y"]})
        self.assertEqual([asked.param(name) for name in "abcd"], ["1", "", "/x y", ""])

    def test_flags(self) -> None:
        """A boolean parameter is true when given, unless its value is 0 or false in any case (reference REQ-16)."""
        asked = request(query="a&b=1&c=no&d=0&e=False&f=true&f=false")
        self.assertEqual([name for name in "abcdefg" if asked.flag(name)], ["a", "b", "c", "f"])


class LineTests(SynchronousTestCase):
    """Lines of a header that came more than once."""

    def test_repeated(self) -> None:
        """Lines stay apart where the edge knows them; a name that came once has one line."""
        asked = request(headers={"a": "1, 2", "b": "3"}, repeated={"a": ("1", "2")})
        self.assertEqual((asked.lines("a"), asked.lines("b"), asked.lines("c")), (("1", "2"), ("3",), ()))

    def test_removed(self) -> None:
        """A header that a filter has removed has no lines, though it came more than once."""
        self.assertEqual(request(headers={}, repeated={"a": ("1", "2")}).lines("a"), ())


class LeavingTests(SynchronousTestCase):
    """Clients that leave before they are answered."""

    def test_told_once(self) -> None:
        """Each listener is told once, in order, except those that have ended their interest."""
        asked = request()
        told: list[str] = []
        asked.on_leave(lambda: told.append("first"))
        end = asked.on_leave(lambda: told.append("ended"))
        asked.on_leave(lambda: told.append("last"))
        end()
        asked.left()
        asked.left()
        self.assertEqual((told, asked.client_gone), (["first", "last"], True))

    def test_ends_with_client(self) -> None:
        """Reads, requests that another server answers, and those still in a queue end with their client."""
        for known, expected in (
            ({"method": "GET"}, True),
            ({"method": "HEAD"}, True),
            ({"method": "POST"}, False),
            ({"method": "POST", "queued": True}, True),
            ({"method": "DELETE", "passed_on": True}, True),
        ):
            self.assertIs(request(**known).ends_with_client, expected, known)

    def test_steps(self) -> None:
        """A request keeps its first steps, however often it repeats them (reference OPS-26)."""
        asked = request()
        for number in range(MOST_STEPS + 5):
            asked.step(str(number))
        steps = asked.steps or []
        self.assertEqual([text for _, text in steps], [str(number) for number in range(MOST_STEPS)])
        self.assertEqual(sorted(steps, key=lambda step: step[0]), steps)


class EndTests(SynchronousTestCase):
    """Listeners of a response's end."""

    def test_first_end_counts(self) -> None:
        """Listeners hear of the first end; a second one tells nobody."""
        response = Response()
        told: list[Ending] = []
        response.on_end(told.append)
        response.end(Ending.COMPLETE)
        response.end(Ending.ABORTED)
        self.assertEqual(told, [Ending.COMPLETE])

    def test_failing_listener(self) -> None:
        """A listener that fails is logged, and the next one is told all the same."""

        def fail(_ending: Ending) -> None:
            raise RuntimeError("listener")

        response = Response()
        told: list[Ending] = []
        response.on_end(fail)
        response.on_end(told.append)
        response.end(Ending.DEADLINE)
        self.assertEqual(told, [Ending.DEADLINE])
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_drop(self) -> None:
        """A dropped response tells its stream, then its listeners, even if the stream fails."""
        for broken in (False, True):
            stream = Stream(broken=broken)
            told: list[Ending] = []
            response = Response(stream=stream)
            response.on_end(told.append)
            response.drop(Ending.CLIENT_GONE)
            self.assertEqual((stream.lost, told), (1, [Ending.CLIENT_GONE]))
            self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), broken)


class ShortTests(SynchronousTestCase):
    """Responses that always have room."""

    def test_sizes(self) -> None:
        """Complete bodies up to the limit are short; streams, parts and pieces of unknown length are not."""
        parts: Iterator[bytes] = iter((b"",))
        for response, expected in (
            (Response(), True),
            (Response(body=bytes(SHORT_BYTES)), True),
            (Response(body=bytes(SHORT_BYTES + 1)), False),
            (Response(body=[b"a"], length=1), True),
            (Response(body=[b"a"], length=SHORT_BYTES + 1), False),
            (Response(body=[b"a"]), False),
            (Response(parts=parts), False),
            (Response(stream=Stream()), False),
        ):
            self.assertIs(is_short(response), expected, response)


class FramingTests(SynchronousTestCase):
    """Chunks of HTTP/1.1, and texts of headers."""

    def test_chunks(self) -> None:
        """The size of a chunk is hexadecimal; several pieces become one chunk."""
        self.assertEqual(chunk(b"x" * 26), b"1a\r\n" + b"x" * 26 + b"\r\n")
        self.assertEqual(chunks((b"ab", b"", b"c")), b"3\r\nabc\r\n")

    def test_utf8_text(self) -> None:
        """A header's characters are bytes of UTF-8; others are replaced, or raise UnicodeDecodeError if strict."""
        self.assertEqual(utf8_text("plain"), "plain")
        self.assertEqual(utf8_text("\xc3\xa9"), "é")
        self.assertEqual(utf8_text("\xff"), "\ufffd")
        self.assertRaises(UnicodeDecodeError, utf8_text, "\xff", "strict")
