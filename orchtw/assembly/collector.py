"""The search for reference cycles, which holds up everything while it lasts (reference METRIC-7).

A pass takes time for every object that it looks at, 0.2 microseconds or so. With bounds that make passes rare, one
over a million new objects, which a hundred thousand stored ones may consist of, takes a fifth of a second. Neither
requests nor connections leave cycles behind, so nearly all that a pass could find has been made a moment ago.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any, Final

from twisted.application.service import Service

from orchtw.metrics.series import Histogram

BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)

THRESHOLDS: Final = (5_000, 2, 2)
"""New objects before a pass over them, and passes before one that looks at the survivors too: at 45,000 at most."""

KEPT: Final = 20_000
"""As many survivors are looked at again: cycles that lived long, such as those of a removed definition, are few."""


class Collector(Service):
    """Sets aside, for good, what has lived through three passes, once that is much; `seconds` is how long they take.

    Begun when the start is over: all that it has made is set aside as well.
    """

    def __init__(self) -> None:
        self.seconds = Histogram(BOUNDS_S)
        self._began = 0.0

    def startService(self) -> None:
        """Begin."""
        super().startService()  # type: ignore[no-untyped-call]
        gc.collect()
        gc.freeze()
        gc.collect()  # so that the interpreter knows that nothing is left: it puts off passes over little that is new
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self._passing)

    def stopService(self) -> None:
        """Look no more; what has been set aside stays so."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._passing in gc.callbacks:
            gc.callbacks.remove(self._passing)

    def _passing(self, phase: str, info: Mapping[str, Any]) -> None:
        """A pass begins or has ended."""
        if phase == "start":
            self._began = time.perf_counter()
            return
        self.seconds.observe(time.perf_counter() - self._began)
        if info["generation"] == 2 and len(gc.get_objects(2)) > KEPT:
            gc.freeze()
