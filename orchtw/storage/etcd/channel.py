"""Calls to a cluster: over one connection to one of its members, another one when that fails (reference STORE-31)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import ConfigError, TooManyRequests
from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer, Unreachable
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.connection import EtcdCall, EtcdConnection
from orchtw.storage.etcd.silence import Silence
from orchtw.storage.etcd.status import LATE, NO_LEADER, UNAVAILABLE, RpcError
from orchtw.wire import http2_frames as frames

CALL_S: Final = 10.0
"""How long a call may take, the wait for a connection included."""

AGAIN_S: Final = 0.05  # before a call is made again that a member could not answer
BACKOFF_S: Final = (0.1, 0.2, 0.5, 1.0)  # between rounds of all endpoints
TICK_S: Final = 0.25
NEVER: Final = float("inf")
CLOSED: Final = "the store is closed"

PROTOCOLS: Final = (b"h2",)
FIELDS: Final = (("content-type", "application/grpc"), ("te", "trailers"), ("hasleader", "true"))
"""With the last one a member that has lost its leader says so instead of waiting for one."""

Done = Callable[["bytes | RpcError"], None]


class Unary(EtcdCall):
    """One question and its answer. With `safe` it may be asked again whatever has become of it."""

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


@attrs.frozen(slots=True, eq=False)
class Stream:
    """A call that goes on until it fails or is cancelled."""

    connection: EtcdConnection
    number: int

    def send(self, body: bytes) -> None:
        """Send a further message."""
        self.connection.send(self.number, body)

    def cancel(self) -> None:
        """End it: its call hears nothing more."""
        self.connection.cancel(self.number)


class Channel:
    """Started and stopped once. `connected` is called at each new connection, for calls that go on.

    `renewed` gives the certificates for the next connection; None: those of the destination.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        destinations: Sequence[Destination],
        connected: Callable[[], None],
        renewed: Callable[[], ClientTLS | None] = lambda: None,
    ) -> None:
        self._reactor = reactor
        self._destinations = destinations
        self._renewed = renewed
        self._connected = connected
        self._dialer = Dialer(reactor, "etcd")
        self._connection: EtcdConnection | None = None
        self._all: set[EtcdConnection] = set()
        self._silence = Silence()
        self._fields: dict[str, bytes] = {}
        self._authority = ("", "")
        self._waiting: deque[Unary] = deque()
        self._again: dict[Unary, IDelayedCall] = {}  # calls that are made again in a moment
        self._dialling: Deferred[None] | None = None
        self._gone: Deferred[None] | None = None
        self._ticker = LoopingCall(self._tick)
        self._ticker.clock = reactor
        self._open = False
        self.trouble = ""

    @property
    def endpoint(self) -> str:
        """The URL of the member that is asked; empty while there is none."""
        return "" if self._connection is None else "://".join(self._authority)

    def start(self) -> None:
        """Connect, and connect again whenever that is needed."""
        self._open = True
        self._ticker.start(TICK_S, now=False)
        self._dialling = Deferred.fromCoroutine(self._keep_connected())
        self._dialling.addErrback(self._dialling_failed)

    def stop(self) -> None:
        """Drop the connections; calls fail."""
        self._open = False
        if self._ticker.running:
            self._ticker.stop()
        if self._dialling is not None:
            self._dialling.cancel()
        for connection in list(self._all):
            connection.drop(CLOSED)
        for call, again in list(self._again.items()):
            again.cancel()
            self._ask_again(call)
        self._refuse_waiting(NEVER)

    def call(self, path: str, body: bytes, done: Done, *, timeout_s: float = CALL_S, safe: bool = False) -> None:
        """Ask; `done` is called with the answer or an RpcError."""
        self.ask(Unary(self, path, body, done, self._reactor.seconds() + timeout_s, safe))

    def stream(self, path: str, body: bytes, call: EtcdCall) -> Stream | None:
        """Begin a call that goes on; None: there is no connection, and `connected` will be called."""
        connection = self._connection
        if connection is None:
            return None
        return Stream(connection, connection.start(self._fields_of(path), body, call, NEVER, ends=False))

    def ask(self, call: Unary) -> None:
        """Ask now, or once there is a connection that takes it."""
        connection = self._connection
        if connection is not None and connection.busy < connection.most and not self._waiting:
            connection.start(self._fields_of(call.path), call.body, call, call.deadline)
        elif self._open:
            self._waiting.append(call)
        else:
            call.done(RpcError(UNAVAILABLE, CLOSED, sent=False))

    def answered(self, call: Unary, answer: bytes | RpcError) -> None:
        """Pass the answer on, unless it is an error and to ask again can do no harm."""
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
        leaderless = error.text == NO_LEADER
        if leaderless and len(self._destinations) > 1 and self._connection is not None:
            self._connection.drop(NO_LEADER)
        if error.code != UNAVAILABLE or not (call.safe or leaderless or not error.sent):
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
            found = self._fields[path] = frames.fields(*self._authority, path, FIELDS)
        return found

    async def _keep_connected(self) -> None:
        """Use one endpoint after the other, each for as long as it lasts."""
        failures = 0
        while True:
            for destination in self._destinations:
                try:
                    await self._use(destination)
                    failures = 0
                except (Unreachable, ConfigError, TooManyRequests) as problem:
                    self.trouble = f'connection error: desc = "transport: Error while dialing {problem}"'
                    failures += 1
            rounds = failures // len(self._destinations)
            await deferLater(self._reactor, BACKOFF_S[min(rounds, len(BACKOFF_S) - 1)])

    async def _use(self, destination: Destination) -> None:
        """Connect, and return once the connection takes no more calls."""
        tls = attrs.evolve(self._renewed() or destination.tls, protocols=PROTOCOLS)
        destination = attrs.evolve(destination, tls=tls)
        gone: Deferred[str] = Deferred()
        connection = await self._dialer.exchange(destination, lambda: EtcdConnection(gone.callback))
        if not gone.called:
            self._all.add(connection)
            connection.on_end(lambda outcome: self._all.discard(connection))
            authority = destination.scheme, destination.authority
            if authority != self._authority:
                self._authority, self._fields = authority, {}
            self._connection, self._silence, self.trouble = connection, Silence(), ""
            self._ask_waiting()
            self._connected()
        try:
            self.trouble = await gone
        finally:
            self._connection = None

    def _tick(self) -> None:
        now = self._reactor.seconds()
        for connection in list(self._all):
            connection.late(now)
        self._refuse_waiting(now)
        if self._connection is not None:
            self._silence.look(self._connection, TICK_S)

    def _refuse_waiting(self, now: float) -> None:
        """Fail those who have waited for a connection until their time was over."""
        late = [call for call in self._waiting if call.deadline <= now]
        if late:
            self._waiting = deque(call for call in self._waiting if call.deadline > now)
            error = RpcError(UNAVAILABLE, self.trouble or LATE, sent=False)
            for call in late:
                call.done(error)

    def _dialling_failed(self, failure: Failure) -> None:
        if not isinstance(failure.value, CancelledError):
            self._log.failure("the connection to etcd is not looked after any more", failure)
