"""Channels of a remote command over SPDY streams and WebSocket messages (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Request, TextMessage
from wsproto.utilities import RemoteProtocolError

from orchtw.simulation.agent.session import ERROR, RESIZE, STDERR, STDIN, STDOUT, MakeSession, Session, WantedStreams
from orchtw.simulation.agent.spdy import Connection, ProtocolError

_NAMES: Final = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}
_PLAIN: Final = "channel."
_WITH_STATUS: Final = 4
"""Oldest protocol whose clients get a Status; others get the message of a failure."""
_CLOSE: Final = 255
"""Channel by which a client of the fifth protocol ends a stream."""


def best_protocol(offered: Iterable[str], least: int) -> str:
    """Return the newest of the offered protocols that is understood, such as `v4.channel…`; empty without one."""
    known = {name: _version(name) for name in offered}
    fitting = [name for name, version in known.items() if least <= version <= 5]
    return max(fitting, key=lambda name: known[name], default="")


def _chosen(offered: Sequence[str]) -> str:
    """Return the protocol for a WebSocket: the newest one, or else the one without a version; empty without any."""
    plain = (name for name in offered if name.startswith(_PLAIN))
    return best_protocol(offered, _WITH_STATUS) or next(plain, "")


def _version(name: str) -> int:
    version, dot, rest = name.partition(".")
    return int(version[1:]) if dot and rest.startswith("channel.") and version[1:].isdigit() else 0


class SpdyStreams:
    """A session over SPDY: it starts when all streams that were asked for are there."""

    def __init__(self, wanted: WantedStreams, make: MakeSession, transport: Any) -> None:
        self._transport = transport
        self._connection = Connection(self, transport.write)
        self._channels: dict[int, int] = {}
        self._streams: dict[int, int] = {}
        asked = {STDIN: wanted.stdin, STDOUT: wanted.stdout, STDERR: wanted.stderr, RESIZE: wanted.tty}
        self._expected = {ERROR, *(channel for channel, there in asked.items() if there)}
        self.session: Session = make(wanted, self)
        self._started = False

    def feed(self, data: bytes) -> None:
        """Take in bytes of the client. Raises ProtocolError."""
        self._connection.feed(data)

    def lost(self) -> None:
        """Note that the client has gone."""
        self.session.stop()

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        """Note a stream of the client. See `spdy.Listener`, also for the methods below."""
        channel = _NAMES.get(headers.get("streamtype", ""))
        if channel is None:
            raise ProtocolError("unknown type of stream")
        self._channels[stream], self._streams[channel] = channel, stream
        if self._expected <= set(self._streams) and not self._started:
            self._started = True
            self.session.start()

    def received(self, stream: int, data: bytes) -> None:
        if self._channels.get(stream) == STDIN:
            self.session.received(data)

    def finished(self, stream: int) -> None:
        if self._channels.get(stream) == STDIN:
            self.session.input_ended()

    def reset(self, stream: int) -> None:
        self.finished(stream)

    def write(self, channel: int, data: bytes) -> None:
        """Send output. See `session.Wire`, also for the methods below."""
        if channel in self._streams:
            self._connection.send(self._streams[channel], data)

    def end(self, status: bytes) -> None:
        for channel in (STDOUT, STDERR):
            if channel in self._streams:
                self._connection.send(self._streams[channel], b"", last=True)
        self._connection.send(self._streams[ERROR], status, last=True)
        self._transport.loseConnection()

    def hold(self, held: bool) -> None:
        self._transport.hold(held)


class WebSocketChannels:
    """A session over WebSocket: the first byte of each message is its channel."""

    def __init__(
        self,
        headers: list[tuple[bytes, bytes]],
        target: str,
        wanted: WantedStreams,
        make: MakeSession,
        transport: Any,
    ) -> None:
        self._transport = transport
        self._websocket = WSConnection(ConnectionType.SERVER)
        self._wanted = wanted
        self._channel: int | None = None
        self._has_status = False
        self.session: Session = make(wanted, self)
        self._websocket.initiate_upgrade_connection(headers, target)
        self._events()

    def feed(self, data: bytes) -> None:
        """Take in bytes of the client. Raises ProtocolError."""
        try:
            self._websocket.receive_data(data)
            self._events()
        except RemoteProtocolError as error:
            raise ProtocolError(str(error)) from None

    def lost(self) -> None:
        """Note that the client has gone."""
        self.session.stop()

    def write(self, channel: int, data: bytes) -> None:
        """Send output. See `session.Wire`, also for the methods below."""
        if channel != STDERR or self._wanted.stderr:
            self._send(BytesMessage(data=bytes((channel,)) + data))

    def end(self, status: bytes) -> None:
        if not self._has_status:
            status = orjson.loads(status).get("message", "").encode()
        if status:
            self._send(BytesMessage(data=bytes((ERROR,)) + status))
        self._send(CloseConnection(code=1000))
        self._transport.loseConnection()

    def hold(self, held: bool) -> None:
        self._transport.hold(held)

    def _events(self) -> None:
        for event in self._websocket.events():
            if isinstance(event, Request):
                chosen = _chosen(event.subprotocols)
                self._has_status = bool(_version(chosen))
                self._send(AcceptConnection(subprotocol=chosen or None))
                self.session.start()
            elif isinstance(event, BytesMessage | TextMessage):
                data = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
                self._part(data, last=event.message_finished)
            elif isinstance(event, Ping):
                self._send(event.response())
            elif isinstance(event, CloseConnection):
                self._send(event.response())
                self._transport.loseConnection()

    def _part(self, data: bytes, *, last: bool) -> None:
        """Take in a part of a message; only the first part names the channel."""
        if self._channel is None and data:
            self._channel, data = data[0], data[1:]
        if self._channel == STDIN and data:
            self.session.received(data)
        elif self._channel == _CLOSE and data[:1] == bytes((STDIN,)):
            self.session.input_ended()
        if last:
            self._channel = None

    def _send(self, event: Any) -> None:
        self._transport.write(self._websocket.send(event))

