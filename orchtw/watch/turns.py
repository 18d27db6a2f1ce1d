"""Long work in slices: the part that does not fit in a turn of the reactor continues in the next ones, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

SLICE_S: Final = 0.008  # how long work for watchers may hold the reactor
WORK_S: Final = 0.005  # the same for all sliced work of a turn; with its last step and a write that is 7 ms
SHORT_S: Final = 0.0005  # slice of new work when the turn has had its slice


class ReactorTurns:
    """One queue of unfinished work, of which each turn of the reactor does a slice.

    `seconds` is the clock that measures slices; `call_soon` runs a function in the next turn. Work that waits is a
    function without arguments; it must look at `end` itself, and come back with `later` while it has more to do.
    """

    def __init__(self, seconds: Callable[[], float], call_soon: Callable[[Callable[[], None]], Any]) -> None:
        self.seconds = seconds
        self._call_soon = call_soon
        self._waiting: deque[Callable[[], None]] = deque()
        self._end: float | None = None  # of the slice that runs

    def end(self) -> float:
        """Return the time, by `seconds`, at which new work should stop: the end of the current or a new slice."""
        if self._end is not None:
            return self._end
        return self.seconds() + (SHORT_S if self._waiting else WORK_S)

    def later(self, work: Callable[[], None]) -> None:
        """Queue `work` for one of the next turns, after earlier work. It must not raise."""
        if not self._waiting and self._end is None:
            self._call_soon(self._run)
        self._waiting.append(work)

    def spent(self) -> None:
        """Note that a slice outside the queue has been used up: later work in this turn should be short."""
        if self._end is None and not self._waiting:
            self.later(_nothing)

    def _run(self) -> None:
        """Run one slice: at least one piece of work, which may queue itself again."""
        waiting = self._waiting
        self._end = self.seconds() + WORK_S
        try:
            for _ in range(len(waiting)):
                waiting.popleft()()
                if self.seconds() >= self._end:
                    break
        finally:
            self._end = None
            if waiting:
                self._call_soon(self._run)


def _nothing() -> None:
    """Do nothing: stands for work done outside the queue."""
