"""Dispatch of events to the groups that they may concern, by index: independent of the number of groups."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from orchtw.errors import StatusError
from orchtw.watch.event_log import Event, EventLog, HeadRevision
from orchtw.watch.frames import Wire
from orchtw.watch.group import Group
from orchtw.watch.recent import RecentBudget
from orchtw.watch.selection import Indexer, Selection
from orchtw.watch.turns import SLICE_S, ReactorTurns

Table = dict[Hashable, dict[Group, None]]


class Dispatcher:
    """The watch groups of one resource, each under the one index term that its selection names.

    Groups are looked up by the terms of the event's new and old state, and filter the events themselves.
    """

    def __init__(self, log: EventLog, head: HeadRevision, budget: RecentBudget, turns: ReactorTurns) -> None:
        self.closed = False
        self.expired = 0  # watches that had fallen behind the history
        self.turns = turns
        self._log = log
        self._head = head
        self._budget = budget
        self._groups: dict[tuple[Selection, Wire], Group] = {}
        self._tables: dict[Indexer, Table] = {}
        self._dirty: list[Group] = []
        self._events: list[Event] = []
        self._flushing: deque[Group] = deque()  # of the pass that runs: the rest of its groups, and all of its events
        self._flushed: list[Event] = []
        self._goes_on = False

    @property
    def groups(self) -> int:
        """Number of the watch groups."""
        return len(self._groups)

    @property
    def delivered(self) -> bool:
        """Report whether every watcher has been sent all events."""
        return not (self._dirty or self._flushing or any(group.behind for group in self._groups.values()))

    def members(self) -> tuple[int, int]:
        """Return the numbers of watchers, and of those that are behind."""
        groups = self._groups.values()
        return sum(map(len, groups)), sum(len(group.behind) for group in groups)

    @property
    def lag_s(self) -> float:
        """Age of the oldest event that some watcher has not been sent, in seconds; 0.0 if all are up to date."""
        cursors = [member.cursor for group in self._groups.values() for member in group.behind]
        oldest = self._log.time_after(min(cursors)) if cursors else None
        return 0.0 if oldest is None else max(0.0, self.turns.seconds() - oldest)

    def group(self, selection: Selection, wire: Wire) -> Group:
        """Return the group of that selection and wire, made on first use and dropped with its last member."""
        group = self._groups.get((selection, wire))
        if group is None:
            group = Group(selection, wire, self._log, self._head, self._budget, self.turns, self._drop)
            self._groups[selection, wire] = group
            table = self._tables.setdefault(selection.indexer, {})
            table.setdefault(selection.term, {})[group] = None
        return group

    def _drop(self, group: Group) -> None:
        selection = group.selection
        if self._groups.get((selection, group.wire)) is not group:
            return
        del self._groups[selection, group.wire]
        table = self._tables[selection.indexer]
        del table[selection.term][group]
        if not table[selection.term]:
            del table[selection.term]
            if not table:
                del self._tables[selection.indexer]

    def dispatch(self, event: Event) -> bool:
        """Note the event for every group that it may concern; report whether there is something to flush."""
        old, new = event.old, event.new
        found = False
        for indexer, table in self._tables.items():
            here = new if new is not None else old
            assert here is not None
            terms = indexer(here)
            for term in terms:
                if term in table:
                    found = True
                    self._note(event, table[term])
            if old is not None and old is not here:
                for term in indexer(old):
                    if term in table and term not in terms:
                        found = True
                        self._note(event, table[term])
        if found:
            self._events.append(event)
        return found

    def _note(self, event: Event, groups: dict[Group, None]) -> None:
        for group in groups:
            if not group.pending:
                self._dirty.append(group)
            group.pending.append(event)

    def flush(self) -> None:
        """Flush the groups concerned and drop their shared frames: a slice now, the rest in the next turns."""
        if not self._flushing:
            self._flushing.extend(self._dirty)
            self._flushed, self._dirty, self._events = self._events, [], []
        end = self.turns.seconds() + SLICE_S  # regardless of other work: members that fall behind cost more
        flushing = self._flushing
        while flushing:
            group = flushing.popleft()
            if group.flush(end):
                flushing.append(group)
            if self.turns.seconds() >= end:
                break
        if not flushing:
            for event in self._flushed:
                event.frames = None
            self._flushed = []
        if (flushing or self._dirty) and not self._goes_on:
            self._goes_on = True
            self.turns.later(self._go_on)

    def _go_on(self) -> None:
        self._goes_on = False
        self.flush()

    def fail(self, error: StatusError) -> None:
        """Send every member the error and end its stream; later ones begin as usual."""
        for group in list(self._groups.values()):
            group.fail(error)

    def close(self) -> None:
        """End all streams, and those that start later."""
        self.closed = True
        for group in list(self._groups.values()):
            group.close()
