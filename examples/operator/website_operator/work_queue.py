"""Keys that wait for their turn: each once, and later after a failure."""

from __future__ import annotations

import heapq
import threading
import time

Key = tuple[str, str]
"""Namespace and name of an object."""

FIRST_DELAY_S, MOST_DELAY_S = 0.02, 5.0


class WorkQueue:
    """Queue of keys for one worker. A key that failed waits, twice as long each time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        self._closed = False

    def add(self, key: Key, delay_s: float = 0.0) -> None:
        """Add a key, due after a delay; an earlier due time wins."""
        with self._changed:
            due = time.monotonic() + delay_s
            self._due[key] = min(due, self._due.get(key, due))
            self._changed.notify()

    def take(self) -> Key | None:
        """Wait for a key that is due and remove it; None once the queue is closed."""
        with self._changed:
            while not self._closed:
                soonest = heapq.nsmallest(1, self._due.items(), key=lambda item: item[1])
                if soonest and soonest[0][1] <= time.monotonic():
                    del self._due[soonest[0][0]]
                    return soonest[0][0]
                self._changed.wait(soonest[0][1] - time.monotonic() if soonest else None)
            return None

    def done(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def failed(self, key: Key) -> None:
        """Add a key again, after a delay."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self.add(key, min(FIRST_DELAY_S * 2**failures, MOST_DELAY_S))

    def close(self) -> None:
        """Let the worker end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
