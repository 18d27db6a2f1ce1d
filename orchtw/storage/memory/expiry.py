"""Ends of values that expire (reference STORE-15)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

_SPARE = 64
"""Ends on the heap that count for nothing before it is made anew."""


class Lifetimes:
    """Keys with the revision of their last write and its end, in seconds by any clock."""

    def __init__(self) -> None:
        self._ends: dict[str, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, str]] = []

    def __len__(self) -> int:
        return len(self._ends)

    def put(self, key: str, revision: int, end_s: float) -> None:
        """Note that the write of `key` at `revision` ends then, instead of an earlier one."""
        self._ends[key] = end_s, revision
        heappush(self._heap, (end_s, revision, key))
        if len(self._heap) > 2 * len(self._ends) + _SPARE:
            self._heap = [(end_s, revision, key) for key, (end_s, revision) in self._ends.items()]
            heapify(self._heap)

    def drop(self, key: str) -> None:
        """Note that the key has been written without an end, or deleted."""
        self._ends.pop(key, None)

    def next_s(self) -> float | None:
        """Return the earliest end, or None."""
        heap = self._heap
        while heap and self._ends.get(heap[0][2]) != heap[0][:2]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now_s: float, most: int) -> list[tuple[str, int]]:
        """Take out up to `most` keys whose end has come, each with its revision."""
        found: list[tuple[str, int]] = []
        while len(found) < most and (end_s := self.next_s()) is not None and end_s <= now_s:
            _, revision, key = heappop(self._heap)
            del self._ends[key]
            found.append((key, revision))
        return found
