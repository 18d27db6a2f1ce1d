"""The right to write that comes with a Lease, until its loss (reference CTRL-51)."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from orchtw.errors import Fenced
from orchtw.storage.store import Guard


class Tenure:
    """One term under the Lease that is stored at `key`. It begins once and ends once.

    `clock` must be monotonic: by it a process notices that it was stopped for longer than its Lease lasts.
    """

    def __init__(self, clock: IReactorTime, key: str) -> None:
        self._clock = clock
        self._key = key
        self._revision = 0
        self._until_s = 0.0
        self._over = False

    def extend(self, until_s: float) -> None:
        """Extend the tenure: the Lease is held until then, by the clock."""
        self._until_s = until_s

    def moved(self, revision: int) -> None:
        """Note that the Lease, still held, has been written at `revision`."""
        self._revision = max(self._revision, revision)

    def end(self) -> None:
        """End the tenure: the Lease is lost, or has been released."""
        self._over = True

    def guard(self) -> Guard:
        """Return the guard that the store compares at each write. Raises Fenced (503) if writing is not allowed."""
        if self._over or not self._revision or self._clock.seconds() >= self._until_s:
            raise Fenced
        return self._key, self._revision
