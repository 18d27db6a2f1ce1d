"""The bound on events that have not arrived at a backend, whatever its mode (reference AUDIT-17)."""

from __future__ import annotations

from typing import Final, Protocol

from orchtw.audit.counts import Counts

WAITING_BYTES: Final = 64 << 20
"""Of events that have not arrived, whatever their number: a log of ten thousand objects could be gigabytes."""

BLOCKED: Final = "audit buffer queue blocked"


class Holder(Protocol):
    """Holder of events that are being delivered."""

    @property
    def bytes(self) -> int:
        """Return the bytes that it holds, `extra_bytes` for each delivery included."""

    @property
    def extra_bytes(self) -> int:
        """Return the bytes held for one delivery beside the events."""


class WaitingEvents:
    """Events that wait for one backend: `queued` bytes that are not handed over yet, and those in delivery.

    The gauge of the backend shows them; events that find no room are lost and counted under `plugin`.
    """

    def __init__(
        self, backend: str, holder: Holder, counts: Counts, *, plugin: str = "", limit_bytes: int = WAITING_BYTES
    ) -> None:
        self.queued = 0
        self._holder = holder
        self._counts = counts
        self._plugin = plugin or backend
        self._limit_bytes = limit_bytes
        counts.waiting[backend] = lambda: self.bytes

    @property
    def bytes(self) -> int:
        """Of everything that has not arrived."""
        return self.queued + self._holder.bytes

    def fits(self, size: int) -> bool:
        """Report whether there is room for so many bytes more."""
        return self.bytes + size + self._holder.extra_bytes <= self._limit_bytes

    def lose(self, count: int) -> None:
        """There is no room for so many events."""
        self._counts.lost(self._plugin, count, BLOCKED)
