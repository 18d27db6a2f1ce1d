"""Long work in slices: what does not fit in one turn of the reactor goes on in the next ones, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

SLICE_S: Final = 0.008  # how long what is due to watchers may hold the reactor
WORK_S: Final = 0.005  # the same of all sliced work of a turn; with its last step and a write that is 7 ms
SHORT_S: Final = 0.0005  # what newcomers get at once when the turn has had its slice


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
        """When what begins now should stop, by `seconds`: the end of the running slice or of a new one."""
        if self._end is not None:
            return self._end
        return self.seconds() + (SHORT_S if self._waiting else WORK_S)

    def later(self, work: Callable[[], None]) -> None:
        """Do `work` in one of the next turns, after what waits already. It must not raise."""
        if not self._waiting and self._end is None:
            self._call_soon(self._run)
        self._waiting.append(work)

    def spent(self) -> None:
        """A slice outside the queue has been used up: what else begins in this turn should be short."""
        if self._end is None and not self._waiting:
            self.later(_nothing)

    def _run(self) -> None:
        """One slice: at least one piece of work, which may put itself behind the others again."""
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
    """Stand in for work that is resumed explicitly."""
