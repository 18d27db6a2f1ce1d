"""Sampling profiler: a thread that records the stacks of all others (reference OPS-27).

The only overhead is that of the samples, one hundred a second.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import PurePath
from types import CodeType, FrameType
from typing import Final

INTERVAL_S: Final = 0.01
DEEPEST: Final = 200
"""Maximum number of frames recorded of a stack, from the innermost outwards."""
MOST_STACKS: Final = 10_000
"""Maximum number of distinct stacks; further ones are counted as `other`."""
_OTHER: Final = ("other",)

Stack = tuple[CodeType, ...] | tuple[str]


class Sampler:
    """Counter of the stacks of all threads but its own, for `seconds` or until it is stopped."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ended = threading.Event()
        self.counts: Counter[tuple[int, Stack]] = Counter()

    def run(self) -> bytes:
        """Sample until the end, blocking the thread; return collapsed stacks for flame graphs: `a;b;c 12`."""
        until = time.monotonic() + self._seconds
        self.look()
        while time.monotonic() < until and not self._ended.wait(INTERVAL_S):
            self.look()
        return self.text()

    def stop(self) -> None:
        """Stop after the current sample."""
        self._ended.set()

    def look(self) -> None:
        """Count the current stack of each other thread."""
        own = threading.get_ident()
        for thread, frame in sys._current_frames().items():
            if thread == own:
                continue
            seen: tuple[int, Stack] = thread, _codes(frame)
            if seen not in self.counts and len(self.counts) >= MOST_STACKS:
                seen = thread, _OTHER
            self.counts[seen] += 1

    def text(self) -> bytes:
        """Return a line per stack, the most frequent first: the thread's name, the frames outermost first, the count.
        """
        names = {each.ident: each.name for each in threading.enumerate()}
        lines = []
        for (thread, stack), count in self.counts.most_common():
            frames = [names.get(thread, "thread"), *map(_shown, stack[::-1])]
            lines.append(f"{';'.join(each.replace(';', ',') for each in frames)} {count}\n")
        return "".join(lines).encode("utf-8", "replace")


def _codes(frame: FrameType | None) -> tuple[CodeType, ...]:
    codes: list[CodeType] = []
    while frame is not None and len(codes) < DEEPEST:
        codes.append(frame.f_code)
        frame = frame.f_back
    return tuple(codes)


def _shown(code: CodeType | str) -> str:
    if isinstance(code, str):
        return code
    file = PurePath(code.co_filename)
    return f"{file.stem}.{code.co_qualname} ({file.name}:{code.co_firstlineno})"
