"""Calls to one of several servers: over one connection, and another one when that fails (reference STORE-31)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import ConfigError, TooManyRequests
from orchtw.outbound.dialer import Unreachable
from orchtw.outbound.grpc.connection import GrpcCall, GrpcConnection
from orchtw.outbound.grpc.silence import Silence
from orchtw.outbound.grpc.status import DEADLINE_EXCEEDED, LATE, UNAVAILABLE, RpcError
from orchtw.outbound.grpc.targets import Target
from orchtw.wire import http2_frames as frames

CALL_S: Final = 10.0
"""Default time limit of a call, the wait for a connection included."""

AGAIN_S: Final = 0.05  # before a call is repeated that a member could not answer
BACKOFF_S: Final = (0.1, 0.2, 0.5, 1.0)  # between rounds of all endpoints
TICK_S: Final = 0.25
NEVER: Final = float("inf")

FIELDS: Final = (("content-type", "application/grpc"), ("te", "trailers"))
"""Fields of every request, beside those of the settings."""

Done = Callable[["bytes | RpcError"], None]


class Unary(GrpcCall):
    """A call with one request and one response. With `safe` it may be repeated after any failure."""

    __slots__ = ("_answer", "_channel", "body", "deadline", "done", "path", "safe")

    def __init__(self, channel: Channel, path: str, body: bytes, done: Done, deadline: float, safe: bool) -> None:
        self._channel = channel
        self.path = path
        self.body = body
        self.done = done
        self.deadline = deadline
        self.safe = safe
        self._answer = b""

    def message(self, body: bytes) -> None:
        """Take a message of the response."""
        self._answer = body

    def ended(self, error: RpcError | None) -> None:
        """Take the end of the call."""
        self._channel.answered(self, self._answer if error is None else error)


class Stream(msgspec.Struct, frozen=True, eq=False):
    """A call that runs until it fails or is cancelled."""

    connection: GrpcConnection
    number: int

    def send(self, body: bytes) -> None:
        """Send a further message."""
        self.connection.send(self.number, body)

    def cancel(self) -> None:
        """Cancel the call, which gets no more messages."""
        self.connection.cancel(self.number)


class ChannelSettings(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Settings of a channel. `name` is the servers' name in the log; `fields` are added to those of each request.

    `connected` is called at each new connection, for streams. An error whose text is `elsewhere` means that the
    server has done nothing, but another one could: the call is repeated there. A message is at most `message_bytes`
    long. With `pings` a silent connection is pinged. Calls on a stopped channel fail with `closed`.
    """

    name: str
    closed: str
    message_bytes: int
    fields: tuple[tuple[str, str], ...] = ()
    connected: Callable[[], None] = lambda: None
    elsewhere: str | None = None
    pings: bool = True


class Channel:
    """Calls to servers, started and stopped once; `targets` are used in turn, each until its connection fails."""

    _log = Logger()

    def __init__(self, reactor: Any, targets: Sequence[Target], settings: ChannelSettings) -> None:
        self._reactor = reactor
        self._targets = targets
        self._settings = settings
        self._connection: GrpcConnection | None = None
        self._all: set[GrpcConnection] = set()
        self._silence = Silence()
        self._fields: dict[str, bytes] = {}
        self._authority = ("", "")
        self._waiting: deque[Unary] = deque()
        self._again: dict[Unary, IDelayedCall] = {}  # calls that are repeated in a moment
        self._dialling: Deferred[None] | None = None
        self._gone: Deferred[None] | None = None
        self._ticker = LoopingCall(self._tick)
        self._ticker.clock = reactor
        self._open = False
        self.trouble = ""

    @property
    def endpoint(self) -> str:
        """URL of the connected server; empty without a connection."""
        return "" if self._connection is None else "://".join(self._authority)

    def start(self) -> None:
        """Connect, and reconnect whenever that is needed."""
        self._open = True
        self._ticker.start(TICK_S, now=False)
        self._dialling = Deferred.fromCoroutine(self._keep_connected())
        self._dialling.addErrback(self._dialling_failed)

    def stop(self) -> None:
        """Drop the connections; all calls fail."""
        self._open = False
        if self._ticker.running:
            self._ticker.stop()
        if self._dialling is not None:
            self._dialling.cancel()
        for connection in list(self._all):
            connection.drop(self._settings.closed)
        for call, again in list(self._again.items()):
            again.cancel()
            self._ask_again(call)
        self._refuse_waiting(NEVER)

    def call(self, path: str, body: bytes, done: Done, *, timeout_s: float = CALL_S, safe: bool = False) -> None:
        """Make a call; `done` is called with the response or an RpcError."""
        self.ask(Unary(self, path, body, done, self._reactor.seconds() + timeout_s, safe))

    def stream(self, path: str, body: bytes, call: GrpcCall) -> Stream | None:
        """Begin a stream; None: there is no connection, and `connected` will be called."""
        connection = self._connection
        if connection is None:
            return None
        return Stream(connection, connection.start(self._fields_of(path), body, call, NEVER, ends=False))

    def ask(self, call: Unary) -> None:
        """Send the call now, or once a connection has room for it."""
        connection = self._connection
        if connection is not None and connection.busy < connection.most and not self._waiting:
            connection.start(self._fields_of(call.path), call.body, call, call.deadline)
        elif self._open:
            self._waiting.append(call)
        else:
            call.done(RpcError(UNAVAILABLE, self._settings.closed, sent=False))

    def answered(self, call: Unary, answer: bytes | RpcError) -> None:
        """Pass the response on, unless it is an error after which the call may be repeated."""
        if isinstance(answer, RpcError) and self._may_ask_again(call, answer):
            self._again[call] = self._reactor.callLater(AGAIN_S, self._ask_again, call)
        else:
            call.done(answer)
        if self._waiting:
            self._ask_waiting()

    def _ask_again(self, call: Unary) -> None:
        del self._again[call]
        self.ask(call)

    def _may_ask_again(self, call: Unary, error: RpcError) -> bool:
        elsewhere = error.text == self._settings.elsewhere
        if elsewhere and len(self._targets) > 1 and self._connection is not None:
            self._connection.drop(error.text)
        if error.code != UNAVAILABLE or not (call.safe or elsewhere or not error.sent):
            return False
        return self._open and self._reactor.seconds() + AGAIN_S < call.deadline

    def _ask_waiting(self) -> None:
        connection = self._connection
        while self._waiting and connection is not None and connection.busy < connection.most:
            call = self._waiting.popleft()
            connection.start(self._fields_of(call.path), call.body, call, call.deadline)

    def _fields_of(self, path: str) -> bytes:
        found = self._fields.get(path)
        if found is None:
            found = self._fields[path] = frames.fields(*self._authority, path, (*FIELDS, *self._settings.fields))
        return found

    async def _keep_connected(self) -> None:
        """Use one target after the other, each as long as its connection lasts."""
        failures = 0
        while True:
            for target in self._targets:
                try:
                    await self._use(target)
                    failures = 0
                except (Unreachable, ConfigError, TooManyRequests) as problem:
                    self.trouble = f'connection error: desc = "transport: Error while dialing {problem}"'
                    failures += 1
            rounds = failures // len(self._targets)
            await deferLater(self._reactor, BACKOFF_S[min(rounds, len(BACKOFF_S) - 1)])

    async def _use(self, target: Target) -> None:
        """Connect, and return once the connection takes no more calls."""
        gone: Deferred[str] = Deferred()
        connection = await target.connect(lambda: GrpcConnection(gone.callback, self._settings.message_bytes))
        if not gone.called:
            self._all.add(connection)
            connection.on_end(lambda outcome: self._all.discard(connection))
            authority = target.scheme, target.authority
            if authority != self._authority:
                self._authority, self._fields = authority, {}
            self._connection, self._silence, self.trouble = connection, Silence(), ""
            self._ask_waiting()
            self._settings.connected()
        try:
            self.trouble = await gone
        finally:
            self._connection = None

    def _tick(self) -> None:
        now = self._reactor.seconds()
        for connection in list(self._all):
            connection.late(now)
        self._refuse_waiting(now)
        if self._connection is not None and self._settings.pings:
            self._silence.look(self._connection, TICK_S)

    def _refuse_waiting(self, now: float) -> None:
        """Fail the calls that have waited for a connection until their deadline."""
        late = [call for call in self._waiting if call.deadline <= now]
        if late:
            self._waiting = deque(call for call in self._waiting if call.deadline > now)
            error = RpcError(DEADLINE_EXCEEDED, self.trouble or LATE, sent=False)
            for call in late:
                call.done(error)

    def _dialling_failed(self, failure: Failure) -> None:
        if not isinstance(failure.value, CancelledError):
            self._log.failure("the connection to {name} is no longer maintained", failure, name=self._settings.name)
