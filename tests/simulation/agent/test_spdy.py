"""SPDY/3.1 of the agent, fed by a small client (reference SIM-24)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.agent.spdy import (
    DICTIONARY,
    FIN,
    MOST_FRAME_BYTES,
    MOST_STREAMS,
    PING,
    RST_STREAM,
    SYN_STREAM,
    Connection,
    ProtocolError,
)


class Recording:
    """Listener that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        self.told.append(("opened", stream, dict(headers)))

    def received(self, stream: int, data: bytes) -> None:
        self.told.append(("received", stream, data))

    def finished(self, stream: int) -> None:
        self.told.append(("finished", stream))

    def reset(self, stream: int) -> None:
        self.told.append(("reset", stream))


class SpdyClient:
    """Frames as a client makes them."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def open(self, stream: int, headers: Mapping[str, str], flags: int = 0) -> bytes:
        """A stream with headers."""
        raw = len(headers).to_bytes(4, "big")
        for text in (text for pair in headers.items() for text in pair):
            raw += len(text).to_bytes(4, "big") + text.encode()
        block = self._deflate.compress(raw) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(SYN_STREAM, stream.to_bytes(4, "big") + bytes(6) + block, flags)


def control(kind: int, body: bytes, flags: int = 0) -> bytes:
    """A control frame of that kind."""
    return b"\x80\x03" + kind.to_bytes(2, "big") + bytes((flags,)) + len(body).to_bytes(3, "big") + body


def data(stream: int, body: bytes, flags: int = 0) -> bytes:
    """A frame of data on a stream."""
    return stream.to_bytes(4, "big") + bytes((flags,)) + len(body).to_bytes(3, "big") + body


class ConnectionTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.listener, self.sent = Recording(), bytearray()
        self.connection = Connection(self.listener, self.sent.extend)
        self.client = SpdyClient()

    def test_streams(self) -> None:
        """Streams open, get data and end, whatever the pieces in which the bytes come."""
        frames = self.client.open(1, {"streamtype": "stdin"}) + data(1, b"ab") + data(1, b"c", FIN)
        for byte in frames:
            self.connection.feed(bytes((byte,)))
        opened = ("opened", 1, {"streamtype": "stdin"})
        self.assertEqual(
            self.listener.told, [opened, ("received", 1, b"ab"), ("received", 1, b"c"), ("finished", 1)]
        )

    def test_answers(self) -> None:
        """Data goes out on open streams only, until the last of it."""
        self.connection.feed(self.client.open(1, {"streamtype": "error"}))
        self.sent.clear()
        self.connection.send(1, b"x")
        self.connection.send(1, b"", last=True)
        self.connection.send(3, b"y")
        self.assertEqual(bytes(self.sent), data(1, b"x") + data(1, b"", FIN))
        self.connection.feed(data(1, b"", FIN))
        self.sent.clear()
        self.connection.send(1, b"z")
        self.assertEqual(bytes(self.sent), b"")

    def test_large(self) -> None:
        """Much data is sent in several frames, of which the last one ends the stream."""
        self.connection.feed(self.client.open(1, {"streamtype": "stdout"}))
        self.sent.clear()
        self.connection.send(1, bytes(MOST_FRAME_BYTES + 1), last=True)
        self.assertEqual(bytes(self.sent), data(1, bytes(MOST_FRAME_BYTES)) + data(1, b"\0", FIN))

    def test_reset_and_ping(self) -> None:
        """A stream that is given up is told once, and a ping is answered."""
        self.connection.feed(self.client.open(1, {"a": "b"}))
        self.sent.clear()
        self.connection.feed(control(RST_STREAM, (1).to_bytes(4, "big") + bytes(4)) * 2 + control(PING, b"1234"))
        self.assertEqual(self.listener.told[1:], [("reset", 1)])
        self.assertEqual(bytes(self.sent), control(PING, b"1234"))

    def test_bounds(self) -> None:
        """Frames and headers are bounded."""
        head = b"\0\0\0\1\0" + (MOST_FRAME_BYTES + 1).to_bytes(3, "big")
        self.assertRaises(ProtocolError, self.connection.feed, head)
        fresh = Connection(self.listener, self.sent.extend)
        self.assertRaises(ProtocolError, fresh.feed, SpdyClient().open(1, {"a": "b" * 100_000}))

    def test_too_many_streams(self) -> None:
        """The streams that may be open at a time are bounded."""
        for count in range(MOST_STREAMS):
            self.connection.feed(self.client.open(2 * count + 1, {}))
        self.assertRaises(ProtocolError, self.connection.feed, self.client.open(2 * MOST_STREAMS + 1, {}))
