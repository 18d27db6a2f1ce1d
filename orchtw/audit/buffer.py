"""Buffer limit of a backend: the bytes of its undelivered events, in every mode (reference AUDIT-17)."""

from __future__ import annotations

from typing import Final, Protocol

from orchtw.audit.counts import Counts

WAITING_BYTES: Final = 64 << 20
"""Size limit of undelivered events, whatever their number: a log of ten thousand objects could be gigabytes."""

BLOCKED: Final = "audit buffer queue blocked"


class InDelivery(Protocol):
    """Events that are being delivered."""

    @property
    def bytes(self) -> int:
        """Return the bytes that they take, with `extra_bytes` for each delivery."""

    @property
    def extra_bytes(self) -> int:
        """Return the bytes that one delivery takes beside its events."""


class WaitingEvents:
    """Undelivered events of one backend: `queued` bytes in the buffer, and those in delivery.

    They are the backend's gauge; events for which there is no room are lost, and counted under `plugin`.
    """

    def __init__(
        self,
        backend: str,
        in_delivery: InDelivery,
        counts: Counts,
        *,
        plugin: str = "",
        limit_bytes: int = WAITING_BYTES,
    ) -> None:
        self.queued = 0
        self._in_delivery = in_delivery
        self._counts = counts
        self._plugin = plugin or backend
        self._limit_bytes = limit_bytes
        counts.waiting[backend] = lambda: self.bytes

    @property
    def bytes(self) -> int:
        """Return the bytes of all undelivered events."""
        return self.queued + self._in_delivery.bytes

    def fits(self, size: int) -> bool:
        """Report whether there is room for `size` bytes more."""
        return self.bytes + size + self._in_delivery.extra_bytes <= self._limit_bytes

    def lose(self, count: int) -> None:
        """Count events that are lost for lack of room."""
        self._counts.lost(self._plugin, count, BLOCKED)
