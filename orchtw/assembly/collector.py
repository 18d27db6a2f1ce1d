"""The search for reference cycles, which holds up everything while it lasts (reference METRIC-7).

A pass takes time for every object that it looks at, 0.2 microseconds or so, on a busy machine three times that. With
bounds that make passes rare, one over a million new objects, which a hundred thousand stored ones may consist of,
takes a fifth of a second. Neither requests nor connections leave cycles behind, so nearly all that a pass could find
has been made a moment ago.

The interpreter counts objects that come, less those that go. Where new ones take the place of old ones, as rows of
Tables do when there is no room for more, it counts none, and then looks at very many at once. So passes are made by
the clock as well. How many objects there are is not looked up: `gc.get_objects` hands out tuples that another thread
has yet to complete, for which that thread then gets a SystemError.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.metrics.series import Histogram

BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)

THRESHOLDS: Final = (2_000, 2, 2)
"""New objects before a pass over them, and passes before one that looks at the survivors too: at 18,000 at most."""

LONG_S: Final = 0.002
"""What so long a pass has looked at, some 10,000 objects, is not looked at again."""

EACH_S: Final = 0.05
"""Between two passes whatever the interpreter has counted: some 200 rows of a Table are made meanwhile."""

OLD_EACH: Final = 4
"""Of these passes, one that looks at survivors of earlier ones as well."""


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
    """Sets aside, for good, what has lived through three passes, once that is much; `seconds` is how long they take.

    Begun when the start is over: all that it has made is set aside as well. Cycles that lived long, such as those of
    a removed definition, are few.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.seconds = Histogram(BOUNDS_S)
        self._clock = clock
        self._began = 0.0
        self._ticks = 0
        self._call: IDelayedCall | None = None

    def startService(self) -> None:
        """Begin."""
        super().startService()  # type: ignore[no-untyped-call]
        gc.collect()
        gc.freeze()
        gc.collect()  # so that the interpreter knows that nothing is left: it puts off passes over little that is new
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self._passing)
        self._again()

    def stopService(self) -> None:
        """Look no more; what has been set aside stays so."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._passing in gc.callbacks:
            gc.callbacks.remove(self._passing)
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _again(self) -> None:
        self._call = self._clock.callLater(EACH_S, self._pass)

    def _pass(self) -> None:
        """One pass, now and then over what is old as well."""
        self._ticks += 1
        gc.collect(1 if self._ticks % OLD_EACH else 2)
        self._again()

    def _passing(self, phase: str, info: Mapping[str, Any]) -> None:
        """A pass begins or has ended."""
        if phase == "start":
            self._began = time.perf_counter()
            return
        took_s = time.perf_counter() - self._began
        self.seconds.observe(took_s)
        if info["generation"] == 2 and took_s > LONG_S:
            gc.freeze()
