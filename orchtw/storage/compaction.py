"""Retention of the history of an embedded store: how far back states can be read, and for how long."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw import errors


def check_revision(revision: int, compacted: int, head: int) -> None:
    """Check that the state of `revision` (0: the latest) is known. Raises Timeout (504) or Expired (410)."""
    if revision > head:
        raise errors.Timeout.future_version(revision, head)
    if revision and revision < compacted:
        raise errors.Expired.list()


class Retention:
    """Periodic compaction of a store (reference STORE-4).

    Every `interval_s` by `clock` (0: never) `compact` is called with the revision of one interval ago; when more than
    `limit_bytes` have been written since, that is done before the interval is over.
    """

    _log = Logger()

    def __init__(
        self, compact: Callable[[int], Deferred[None]], clock: IReactorTime, *, interval_s: float, limit_bytes: int
    ) -> None:
        self._compact = compact
        self._interval_s = interval_s
        self._limit_bytes = limit_bytes
        self._timer = LoopingCall(self._cut)
        self._timer.clock = clock
        self._head = self._mark = self._written = 0

    def start(self, revision: int) -> None:
        """Begin with the store at `revision`."""
        self._head = self._mark = revision
        if self._interval_s:
            self._timer.start(self._interval_s, now=False)

    def stop(self) -> None:
        """End; failures of a compaction under way are no longer logged."""
        if self._timer.running:
            self._timer.stop()

    def wrote(self, revision: int, size_bytes: int) -> None:
        """Note that the store has come to `revision` by writes of that size."""
        self._head = revision
        self._written += size_bytes
        if self._written > self._limit_bytes and self._timer.running:
            self._timer.reset()
            self._cut()

    def _cut(self) -> Deferred[None]:
        self._written = 0
        mark, self._mark = self._mark, self._head
        return self._compact(mark).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        """Log a failed compaction, unless the store is closing; the next interval tries again."""
        if self._timer.running:
            self._log.failure("compaction failed", failure)
