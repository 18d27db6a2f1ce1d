"""A subscriber for tests that remembers its changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from orchtw.storage.store import Change


class Recorder:
    """Subscriber that remembers every Change, and can be waited for."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._waiting: list[tuple[int, Deferred[None]]] = []
        self.on_change: Callable[[], None] = lambda: None

    def deliver(self, changes: Sequence[Change]) -> None:
        """Remember `changes`, and fire the waiting Deferreds whose revision has come."""
        self.changes += changes
        self.on_change()
        due = [entry for entry in self._waiting if entry[0] <= changes[-1].revision]
        self._waiting = [entry for entry in self._waiting if entry not in due]
        for _, waiting in due:
            waiting.callback(None)

    def reached(self, revision: int) -> Deferred[None]:
        """Return a Deferred that fires when a Change of `revision` or later has been delivered."""
        waiting: Deferred[None] = Deferred()
        if self.changes and self.changes[-1].revision >= revision:
            waiting.callback(None)
        else:
            self._waiting.append((revision, waiting))
        return waiting

    @property
    def revisions(self) -> list[int]:
        """The revisions delivered, in order."""
        return [change.revision for change in self.changes]
