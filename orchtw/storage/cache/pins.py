"""Pinned old states that readers still use, and the limit of the memory they hold."""

from __future__ import annotations

from itertools import count
from typing import Protocol
from weakref import ref

from orchtw.watch.event_log import EventLog


class Holder(Protocol):
    """A reader of a snapshot."""

    def expire(self) -> None:
        """Let go of the snapshot: the rest of it cannot be read any more."""


class Pins:
    """Readers of snapshots of one resource, the oldest first; readers that are gone drop out by themselves.

    A snapshot alone holds the entries that the log has dropped since it was taken, so the bytes of the oldest bound
    those of all.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._numbers = count()
        self._held: dict[int, tuple[int, ref[Holder]]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, holder: Holder) -> None:
        """Count a reader of the present state."""
        number = next(self._numbers)
        held = self._held
        self._held[number] = self._log.dropped_bytes, ref(holder, lambda _: held.pop(number, None))

    @property
    def bytes(self) -> int:
        """Upper bound of the bytes that snapshots alone hold."""
        for mark, _ in self._held.values():
            return self._log.dropped_bytes - mark
        return 0

    def expire_oldest(self) -> None:
        """End the reader with the oldest snapshot."""
        number = next(iter(self._held))
        holder = self._held.pop(number)[1]()
        if holder is not None:
            holder.expire()
