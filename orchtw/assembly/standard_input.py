"""`--stop-at-eof`: the end of the process with that of its standard input (reference OPS-30)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, Final

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger

from orchtw.assembly.start import EXIT_FAILED

GRACE_S: Final = 1.0
"""Time for the shutdown. Nobody waits for the server any more, and the store loses nothing by a kill (OPS-16)."""

_CHUNK: Final = 65536
_log = Logger()


def stop_at_end_of_input(
    reactor: Any,
    delay_s: float,
    *,
    read: Callable[[], bytes] = lambda: os.read(0, _CHUNK),
    sleep: Callable[[float], None] = time.sleep,
    leave: Callable[[int], Any] = os._exit,
) -> Thread:
    """Stop `reactor` in good order when `read` returns nothing or fails, and `leave` if that takes too long.

    `delay_s` is the part of the shutdown that was asked for. A thread reads, so that files of every kind will do, and
    so that neither a start under way nor a reactor that is busy or stuck delays the end.
    """

    def wait() -> None:
        try:
            while read():
                pass
        except OSError:  # closed, or a terminal that is gone
            pass
        reactor.callFromThread(_stop, reactor)
        sleep(delay_s + GRACE_S)
        leave(EXIT_FAILED)

    thread = Thread(target=wait, name="standard input", daemon=True)
    thread.start()
    return thread


def _stop(reactor: Any) -> None:
    _log.info("standard input has ended, shutting down")
    with suppress(ReactorNotRunning):  # a signal came first
        reactor.stop()
