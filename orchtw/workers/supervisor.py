"""Owner's side of workers: starts them, replaces those that end, and ends all with itself."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

import orchtw
from orchtw.assembly.start import relay_log
from orchtw.config import Config
from orchtw.logs.verbosity import Verbosity
from orchtw.storage.remote.hub import Hub
from orchtw.storage.remote.server import StoreServer
from orchtw.storage.remote.stream import adopt
from orchtw.storage.store import Store
from orchtw.workers.handover import Handover
from orchtw.workers.shared_metrics import MetricsExchange

FIRST_S: Final = 60.0
"""Longest wait of the start for the workers to serve; later ones join when they are ready."""

STEADY_S: Final = 30.0
"""Runtime after which an ended worker is replaced at once; the others after growing delays."""

MOST_DELAY_S: Final = 30.0
END_GRACE_S: Final = 10.0
"""Seconds beyond the time of requests after which a worker that has not ended is killed."""

_STREAM_FD: Final = 3
_LINE_BYTES: Final = 64 << 10


class Workers:
    """Worker processes, one less than `--workers`. `over` wraps the store that they share with this process."""

    _log = Logger()

    def __init__(self, config: Config, verbosity: Verbosity, reactor: Any) -> None:
        self._config = config
        self._verbosity = verbosity
        self._reactor = reactor
        self._ending = False
        self._begun = 0
        self._slots: list[_Slot] = []
        self._hub: Hub | None = None
        self.exchange = MetricsExchange(0, reactor)
        self.exchange.others = lambda: [each.ask for each in self._slots if each.serves]

    def over(self, store: Store) -> Store:
        """Return the shared store, to be used from now on."""
        self._hub = Hub(store, self._reactor)
        return self._hub

    async def start(self, port: int) -> None:
        """Start them all, for `port`; returns when each serves or has failed once."""
        self._slots = [_Slot(self, number, port) for number in range(1, self._config.serving.workers)]
        tried = gatherResults([each.start() for each in self._slots])
        try:
            await tried.addTimeout(FIRST_S, self._reactor)
        except DeferredTimeout:
            self._log.warn("not all workers are ready")

    def reload(self) -> None:
        """Have them read files again."""
        for each in self._slots:
            each.signal("HUP")

    def begin_end(self) -> None:
        """Tell them to end in good order; from now on none is replaced."""
        self._ending = True
        for each in self._slots:
            each.end()

    async def ended(self) -> None:
        """Return when they have ended; those that take too long are made to."""
        waiting = gatherResults([each.gone for each in self._slots])
        delay_s, request_s = self._config.health.shutdown_delay_duration_s, self._config.requests.timeout_s
        limit_s = delay_s + request_s + END_GRACE_S
        try:
            await waiting.addTimeout(limit_s, self._reactor)
        except DeferredTimeout:
            for each in self._slots:
                each.signal("KILL")

    @property
    def ending(self) -> bool:
        """Report whether workers that end are no longer replaced."""
        return self._ending

    def begin(self, slot: _Slot, port: int) -> tuple[StoreServer, _Process]:
        """Start a process for a slot and join it to the store."""
        assert self._hub is not None
        self._begun += 1
        here, there = socket.socketpair()
        with here, there:
            config = self._config.for_worker(slot.number, port)
            Handover(config=config, verbosity=self._verbosity, owner=os.getpid()).send(here)
            process = _Process(slot.exited)
            command = (sys.executable, "-m", "orchtw.commands.worker", str(_STREAM_FD))
            files = {0: 0, 1: 1, 2: "r", _STREAM_FD: there.fileno()}
            self._reactor.spawnProcess(process, sys.executable, command, env=_environment(), childFDs=files)
            server = StoreServer(self._hub, self._begun, process.kill, self.exchange.answer, slot.served)
            adopt(self._reactor, here, server.link)
        server.begin()
        return server, process


class _Slot:
    """Slot of one worker and its successors."""

    _log = Logger()

    def __init__(self, workers: Workers, number: int, port: int) -> None:
        self.number = number
        self._workers = workers
        self._port = port
        self._reactor = workers._reactor
        self._server: StoreServer | None = None
        self._process: _Process | None = None
        self._began_s = self._delay_s = 0.0
        self._next: IDelayedCall | None = None
        self._tried: Deferred[None] | None = None
        self.gone: Deferred[None] = Deferred()

    def start(self) -> Deferred[None]:
        """Begin; fires when it serves, or has ended instead."""
        tried = self._tried = Deferred()
        self._begin()
        return tried

    @property
    def serves(self) -> bool:
        """Report whether the worker is serving and can be asked."""
        return self._server is not None and self._server.admitted

    def ask(self, question: bytes) -> Deferred[bytes]:
        """Return the worker's answer to a question."""
        assert self._server is not None
        return self._server.ask(question)

    def served(self) -> None:
        """Note that the worker serves from now on."""
        self._told()

    def end(self) -> None:
        """Have it end in good order, or at once while it is being loaded: it serves nobody, and hears nothing yet."""
        if self._next is not None and self._next.active():
            self._next.cancel()
        if self._process is None:
            self.gone.callback(None)
        elif self._server is not None:
            self._server.end()
            if not self._server.admitted:
                self.signal("KILL")

    def signal(self, name: str) -> None:
        """Send it a signal, if it is there."""
        if self._process is not None:
            self._process.signal(name)

    def exited(self, why: str) -> None:
        """Handle the end of the process: another takes its place."""
        server, self._server, self._process = self._server, None, None
        if server is not None:
            server.part("its process has ended")
        self._told()
        if self._workers.ending:
            self.gone.callback(None)
            return
        now = self._reactor.seconds()
        steady = now - self._began_s >= STEADY_S
        self._delay_s = 0.0 if steady else min(MOST_DELAY_S, max(0.5, 2 * self._delay_s))
        text = "worker {number} has ended ({why}); starting another in {delay_s} s"
        self._log.error(text, number=self.number, why=why, delay_s=self._delay_s)
        self._next = self._reactor.callLater(self._delay_s, self._begin)

    def _begin(self) -> None:
        self._began_s = self._reactor.seconds()
        self._server, self._process = self._workers.begin(self, self._port)

    def _told(self) -> None:
        tried, self._tried = self._tried, None
        if tried is not None:
            tried.callback(None)


class _Process(ProcessProtocol):
    """Child process of a worker: passes on its log, and calls `exited` with how it ended."""

    def __init__(self, exited: Callable[[str], None]) -> None:
        self._exited = exited
        self._rest = b""
        self._is_over = False
        self._over: list[Deferred[None]] = []

    def kill(self) -> Deferred[None]:
        """End it at once; fires when it has ended."""
        over: Deferred[None] = Deferred()
        if self._is_over:
            over.callback(None)
        else:
            self._over.append(over)
            self.signal("KILL")
        return over

    def signal(self, name: str) -> None:
        """Send a signal, unless the process has ended."""
        transport: Any = self.transport
        try:
            transport.signalProcess(name)
        except ProcessExitedAlready:
            pass

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Write whole lines to our log as they are."""
        whole, end, rest = (self._rest + data).rpartition(b"\n")
        if len(rest) > _LINE_BYTES:
            whole, end, rest = whole + end + rest, b"\n", b""
        self._rest = rest
        if end:
            relay_log((whole + end).decode(errors="replace"))

    def processExited(self, reason: Failure) -> None:
        """Handle the end of the process, which serves no client any more."""
        self._is_over = True
        over, self._over = self._over, []
        for each in over:
            each.callback(None)
        value: Any = reason.value
        number = getattr(value, "signal", None)
        self._exited(f"signal {number}" if number else f"status {getattr(value, 'exitCode', 0)}")


def _environment() -> dict[str, str]:
    """Return an environment in which a worker imports the same orchtw."""
    root = str(Path(orchtw.__file__).resolve().parent.parent)
    paths: Sequence[str] = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
