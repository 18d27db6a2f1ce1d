"""A reactor whose time nobody sets.

Twisted's reactors keep time by the wall clock: after a step of an hour back, by hand or by NTP, each call waits an
hour longer, and with it every deadline; after a step forward all are due at once. Everything that a reactor does
with time goes through its `seconds`, so replacing that is enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twisted.internet.base import ReactorBase
from twisted.python import runtime


def keep_monotonic_time(reactor: Any, seconds: Callable[[], float] = time.monotonic) -> None:
    """Let `reactor` measure with `seconds`, which never goes back; what is scheduled already keeps its distance.

    For the process that owns its reactor, best before anything is scheduled. `reactor.seconds()` is not the time of
    day any more. A reactor with a clock of its own, such as a test's, is left alone.
    """
    if not isinstance(reactor, ReactorBase) or reactor.seconds is not runtime.seconds:
        return
    now = reactor.seconds()
    pending: list[Any] = [(call, call.getTime() - now) for call in reactor.getDelayedCalls()]
    changed: Any = reactor
    changed.seconds = seconds
    for call, distance_s in pending:
        call.seconds = seconds
        call.reset(distance_s)
