"""Entry point of a worker process, `python -m orchtw.commands.worker FD`: an API server on its owner's store.

The supervisor starts it with one end of a socket pair as file descriptor FD. It exits when its owner does.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IProtocol
from twisted.logger import Logger, globalLogBeginner

from orchtw.assembly.collector import collector_at_rest
from orchtw.assembly.monotonic import keep_monotonic_time
from orchtw.assembly.start import EXIT_FAILED, lines_of, reload_on_hangup
from orchtw.errors import ConfigError
from orchtw.logs.lines import FORMATS, observer
from orchtw.storage.remote.client import RemoteStore
from orchtw.storage.remote.stream import adopt
from orchtw.workers.handover import end_with, receive
from orchtw.workers.shared_metrics import MetricsExchange

_log = Logger()


class StoreOwner:
    """Connection to the process that owns the store, at the other end of `stream`; `worker` is this one's number."""

    def __init__(self, stream: socket.socket, reactor: Any, worker: int) -> None:
        self._stream = stream
        self._reactor = reactor
        self.exchange = MetricsExchange(worker, reactor, self._ask)
        self.store = RemoteStore(self._connect, self._lost, self._soon, self._end, self.exchange.answer)

    async def ready(self) -> None:
        """Wait until the owner has admitted this worker."""
        await self.store.ready()

    def _connect(self, protocol: IProtocol) -> None:
        adopt(self._reactor, self._stream, protocol)

    def _ask(self, question: bytes) -> Any:
        return self.store.ask(question)

    def _soon(self, work: Callable[[], None]) -> None:
        self._reactor.callLater(0, work)

    def _end(self) -> None:
        if not self.store.admitted:
            os._exit(0)  # not serving yet, and without state of its own
        self._reactor.stop()

    @staticmethod
    def _lost(why: str) -> None:
        """End the process: without its owner the cache may be stale, and must not be served."""
        os._exit(EXIT_FAILED)


def run(stream: socket.socket) -> None:
    """Serve until the owner stops the worker or exits."""
    _ignore_end_signals()
    told = receive(stream)
    end_with(told.owner)
    from twisted.internet import reactor as installed

    reactor: Any = installed
    keep_monotonic_time(reactor)
    line = FORMATS[told.config.log.format]
    log = observer(sys.stderr, line, told.verbosity)
    globalLogBeginner.beginLoggingTo([log], redirectStandardIO=False)
    owner = StoreOwner(stream, reactor, told.config.worker)
    try:
        with collector_at_rest():
            from orchtw.server import make_worker

            service = make_worker(told.config, told.verbosity, owner)
    except ConfigError as error:
        print(*lines_of(error), sep="\n", file=sys.stderr, flush=True)
        sys.exit(EXIT_FAILED)
    reload_on_hangup(reactor, service.reload)
    reactor.callWhenRunning(_ignore_end_signals)
    reactor.callWhenRunning(service.startService)
    reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
    reactor.run()


def _ignore_end_signals() -> None:
    """Ignore signals sent to the process group: the owner gets them too and stops its workers in order.

    SIGUSR1, which makes the owner reopen its log file, is ignored too.
    """
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(each, signal.SIG_IGN)


if __name__ == "__main__":
    run(socket.socket(fileno=int(sys.argv[1])))
