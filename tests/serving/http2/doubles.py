"""An HTTP/2 client without a network, and the connection that it talks to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import h2.config
import h2.connection
import h2.events
import h2.settings
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from orchtw.serving.edge import App, Decline, Edge, Screen
from orchtw.serving.http2.connection import HTTP2Channel
from orchtw.serving.http2.shared import Shared
from orchtw.serving.limits import EdgeLimits
from orchtw.wire.http2_frames import HEAD, HEAD_BYTES, FrameKind, read_word
from tests.serving.edge_doubles import KNOWN_PEER, WALL_S, Echo, FakeTransport

FIELDS = ((":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/one"))


def fields(path: str = "/one", method: str = "GET", *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Those of a request."""
    return [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path), *more]


def _texts(headers: Any) -> dict[str, str]:
    return dict(headers)


class Gone(NamedTuple):
    """GOAWAY of the server."""

    error_code: int
    last_stream_id: int
    reason: bytes


class Answer:
    """Response on one stream."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.informed: list[str] = []
        self.body = b""
        self.ended = False
        self.reset: int | None = None

    @property
    def code(self) -> int:
        return int(self.headers.get(":status", "0"))


class Wire:
    """One open connection to `app`, with h2 as its client: what that writes is delivered at once.

    Streams are `answers` by their numbers. With `frugal` the client opens no windows by itself. Bytes may be sent
    that h2 would not.
    """

    def __init__(
        self,
        app: App | None = None,
        limits: EdgeLimits | None = None,
        run_in_thread: Callable[..., Deferred[bytes]] = maybeDeferred,
        *,
        screen: Screen | None = None,
        decline: Decline | None = None,
        known: bool = False,
        streams: int = 100,
        frugal: bool = False,
        settings: dict[int, int] | None = None,
        begun: bool = True,
        late: bool = False,
    ) -> None:
        self.echo = Echo()
        self.seen = self.echo.seen
        self.clock = Clock()
        self.frugal = frugal
        self.edge = Edge(
            app or self.echo,
            clock=self.clock,
            run_in_thread=run_in_thread,
            limits=limits,
            screen=screen,
            decline=decline,
            wall=lambda: WALL_S,
        )
        self.channel = HTTP2Channel(Shared(self.edge, streams))
        self.transport = FakeTransport()
        if known:
            self.transport.seen_peer = KNOWN_PEER
        self.answers: dict[int, Answer] = {}
        self.gone: Gone | None = None
        self.pongs: list[bytes] = []
        self._held = b""
        self.next = 1
        self.client = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8", validate_outbound_headers=False,
                                      normalize_outbound_headers=False)
        )
        self.client.local_settings = h2.settings.Settings(client=True, initial_values={
            h2.settings.SettingCodes.ENABLE_PUSH: 0, **(settings or {})  # type: ignore[dict-item]
        })
        self.edge.draining = late
        self.channel.makeConnection(self.transport)
        if begun:
            self.client.initiate_connection()
            self.exchange()

    def exchange(self) -> None:
        """Deliver what the client has to say, then what the server has, until both are silent."""
        for _ in range(100):
            said = self.client.data_to_send()
            if said:
                self.channel.dataReceived(said)
            if not self.hear() and not said:
                return

    def hear(self) -> bool:
        """Let the turn end, and the client hear what the server has written; whether that is anything."""
        self.clock.advance(0)
        heard = self.transport.taken()
        held, at = self._held + heard, 0
        while len(held) - at >= HEAD_BYTES:
            high, low, kind, _, _ = HEAD.unpack_from(held, at)
            end = at + HEAD_BYTES + (high << 8 | low)
            whole, at = held[at:end], end
            if kind == FrameKind.GOAWAY:  # after which h2 takes nothing
                self.gone = Gone(read_word(whole[13:17]), read_word(whole[9:13]), whole[17:])
                continue
            for event in self.client.receive_data(whole):
                self._event(event)
        self._held = held[at:]
        return bool(heard)

    def _event(self, event: Any) -> None:
        if isinstance(event, h2.events.PingAckReceived):
            self.pongs.append(event.ping_data)
        number = getattr(event, "stream_id", None)
        if not number:
            return
        answer = self.answers.setdefault(number, Answer())
        if isinstance(event, h2.events.ResponseReceived):
            answer.headers = _texts(event.headers)
        elif isinstance(event, h2.events.InformationalResponseReceived):
            answer.informed.append(_texts(event.headers)[":status"])
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            if not self.frugal and event.flow_controlled_length:
                self.client.acknowledge_received_data(event.flow_controlled_length, number)
        elif isinstance(event, h2.events.StreamEnded):
            answer.ended = True
        elif isinstance(event, h2.events.StreamReset):
            answer.reset = event.error_code

    def ask(
        self, wanted: Sequence[tuple[str, str]] = FIELDS, body: bytes | None = None, *, ended: bool = True
    ) -> int:
        """Begin a request; returns its stream."""
        number, self.next = self.next, self.next + 2
        self.client.send_headers(number, wanted, end_stream=ended and body is None)
        if body is not None:
            self.give(number, body, ended=ended)
        self.exchange()
        return number

    def get(self, path: str = "/one", *more: tuple[str, str]) -> Answer:
        """Return the response to a GET."""
        return self.answers[self.ask(fields(path, "GET", *more))]

    def give(self, number: int, data: bytes, *, ended: bool = True) -> None:
        """Send a part of a body, as far as the server's windows let it pass."""
        while data:
            room = min(16384, self.client.local_flow_control_window(number))
            if not room:
                self.exchange()
                room = min(16384, self.client.local_flow_control_window(number))
                if not room:
                    return
            part, data = data[:room], data[room:]
            self.client.send_data(number, part, end_stream=ended and not data)
        self.exchange()

    def open(self, number: int, count: int) -> None:
        """Let the server send so much more; 0 is the connection."""
        self.client.increment_flow_control_window(count, number or None)
        self.exchange()

    def send(self, data: bytes) -> bytes:
        """Deliver bytes as they are; returns what the server wrote."""
        self.channel.dataReceived(data)
        self.clock.advance(0)
        return self.transport.taken()

    def pass_time(self, seconds: int) -> None:
        """Advance the clock in ticks."""
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.edge.tick()
        self.hear()

    def leave(self) -> None:
        """The client is gone."""
        self.channel.connectionLost(Failure(ConnectionDone()))

    @property
    def closed(self) -> bool:
        return bool(self.transport.disconnecting or self.transport.disconnected)
