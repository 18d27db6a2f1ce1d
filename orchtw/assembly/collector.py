"""The search for reference cycles, which holds up everything while it lasts (reference METRIC-7).

A pass takes time for every object that it looks at, 0.2 microseconds or so, on a busy machine three times that. With
bounds that make passes rare, one over a million new objects, which a hundred thousand stored ones may consist of,
takes a fifth of a second. Neither requests nor connections leave cycles behind, so nearly all that a pass could find
has been made a moment ago.

The interpreter counts objects that come, less those that go. Where new ones take the place of old ones, as rows of
Tables do when there is no room for more, it counts none, and then looks at very many at once. So passes are made by
the clock as well. How many objects there are is not looked up: `gc.get_objects` hands out tuples that another thread
has yet to complete, for which that thread then gets a SystemError.

What has lived through two passes is old, and is not looked at again until memory has grown: a cycle that lived long
costs memory, and nothing else tells of it. What the start has made is never looked at.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.assembly.memory import resident_bytes
from orchtw.metrics.series import Histogram

BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)

NEVER: Final = 0x7FFFFFFF
THRESHOLDS: Final = (2_000, 8, NEVER)
"""New objects before a pass over them, and passes before one that looks at the survivors too: at 18,000 at most."""

EACH_S: Final = 0.05
"""Between two passes whatever the interpreter has counted: some 200 rows of a Table are made meanwhile."""

OLD_EACH: Final = 4
"""Number of passes of which one also covers survivors of earlier ones."""

LOOK_TICKS: Final = 20
"""Passes between two looks at the memory."""

SHARE: Final = 0.25
"""Growth of the memory since everything was last looked at, after which that is done again in an idle moment.

At twice as much it is done in any case. So passes over everything are as many as memory doubles times, and what they
cost together is in proportion to what it has grown by.
"""

LEAST_BYTES: Final = 32 << 20
"""Growth that is not worth a pass, whatever share it is."""

IDLE_SHARE: Final = 0.1
"""Fraction of one processor, between two looks, below which a process is idle."""


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """While modules are imported and a server is made: nearly all of it stays, and is set aside at once.

    The collector would look at it again and again, which is a fifth of a start of an empty server.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Collector(Service):
    """Looks at what is new often, and at what is old when memory has grown; `seconds` is how long passes take.

    Begun when the start is over: what that has made is set aside for good. `resident` says how much memory the
    process has, `used_s` how much processor time it has used.
    """

    def __init__(
        self,
        clock: IReactorTime,
        resident: Callable[[], int] = resident_bytes,
        used_s: Callable[[], float] = time.process_time,
    ) -> None:
        self.seconds = Histogram(BOUNDS_S)
        self._clock = clock
        self._resident = resident
        self._used_s = used_s
        self._began = 0.0
        self._ticks = 0
        self._after_last = 0
        self._used_before = 0.0
        self._call: IDelayedCall | None = None

    def startService(self) -> None:
        """Begin to watch the garbage collector."""
        super().startService()  # type: ignore[no-untyped-call]
        gc.collect()
        gc.freeze()
        gc.collect()  # so that the interpreter knows that nothing is left: it puts off passes over little that is new
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self._passing)
        self._after_last, self._used_before = self._resident(), self._used_s()
        self._again()

    def stopService(self) -> None:
        """Stop watching the garbage collector."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._passing in gc.callbacks:
            gc.callbacks.remove(self._passing)
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _again(self) -> None:
        self._call = self._clock.callLater(EACH_S, self._pass)

    def _pass(self) -> None:
        """Collect new objects, or all of them where that is due."""
        self._ticks += 1
        if self._ticks % LOOK_TICKS == 0 and self._is_due():
            gc.collect()
            self._after_last = self._resident()
        else:
            gc.collect(0 if self._ticks % OLD_EACH else 1)
        self._again()

    def _is_due(self) -> bool:
        """Report whether memory has grown enough for a full collection."""
        used_s = self._used_s()
        is_idle = used_s - self._used_before < IDLE_SHARE * EACH_S * LOOK_TICKS
        self._used_before = used_s
        resident = self._resident()
        if resident < self._after_last:
            self._after_last = resident
        worth = max(LEAST_BYTES, int(SHARE * self._after_last))
        return resident - self._after_last >= (worth if is_idle else 2 * worth)

    def _passing(self, phase: str, info: Mapping[str, Any]) -> None:
        """Time a pass of the collector, at its beginning and end."""
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self.seconds.observe(time.perf_counter() - self._began)
