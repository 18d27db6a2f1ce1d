"""Progress of long work as one line on a terminal: how much is done, the rate and the time left.

Nothing is written where standard error is not a terminal, and nothing for work of under a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

FIRST_S: Final = 1.0
REFRESH_S: Final = 0.2
_CLEAR: Final = "\r\033[K"
_MIB: Final = 1 << 20


def line_start(out: TextIO) -> str:
    """Return the characters that overwrite a progress line before another line; empty without a terminal."""
    return _CLEAR if out.isatty() else ""


class Progress:
    """Progress of one task; a context manager, which removes the line at the end.

    `total` is the amount of work in `unit`, 0 if it is unknown. The unit `bytes` is shown in MiB. A `hidden` one is
    not shown, as the terminal shows the result of the work. `out` is standard error by default.
    """

    def __init__(
        self,
        task: str,
        total: int = 0,
        *,
        unit: str = "objects",
        hidden: bool = False,
        out: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self._task, self._unit, self._now = task, unit, now
        self._out = sys.__stderr__ if out is None else out
        self.is_shown = not hidden and self._out is not None and not self._out.closed and self._out.isatty()
        self._done, self._began = 0, now()
        self._next = self._began + FIRST_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_shown and self._out is not None:
            self._write(_CLEAR)

    def advance(self, amount: int = 1) -> None:
        """Count work as done, and refresh the line if the last refresh is long enough ago."""
        self.reach(self._done + amount)

    def reach(self, done: int) -> None:
        """Set the work that is done, as `advance`."""
        self._done = done
        if self.is_shown and (now := self._now()) >= self._next:
            self._next = now + REFRESH_S
            self._write(f"{_CLEAR}{self._task}: {self.text(now - self._began)}")

    def text(self, passed_s: float) -> str:
        """Return the text of the line after so many seconds."""
        parts = []
        per_second = " MiB/s" if self._unit == "bytes" else "/s"
        rate = self._done / passed_s if passed_s > 0 else 0.0
        if self._done:
            of_total = f" of {self._amount(self.total)}" if self.total else ""
            parts = [f"{self._amount(self._done)}{of_total} {self._shown_unit}", f"{self._amount(rate)}{per_second}"]
        if self.total and rate:
            left_s = max(self.total - self._done, 0) / rate
            parts = [f"{min(self._done / self.total, 1):.0%}", *parts, f"{_duration(left_s)} left"]
        else:
            parts.append(_duration(passed_s))
        return ", ".join(parts)

    @property
    def _shown_unit(self) -> str:
        return "MiB" if self._unit == "bytes" else self._unit

    def _amount(self, amount: float) -> str:
        return f"{amount / _MIB:,.1f}" if self._unit == "bytes" else f"{amount:,.0f}"

    def _write(self, text: str) -> None:
        """Write to the terminal; one that has gone is not written to again."""
        try:
            assert self._out is not None
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):
            self.is_shown = False


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
