"""States that clients page through: kept, so that a page need not undo the history again."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.storage.cache.ordered import Entries
from orchtw.storage.cache.pins import Pins
from orchtw.storage.cache.union import Candidates
from orchtw.watch.selection import Selection

MAX_KEPT: Final = 16  # of a resource: beside the blocks of today each has up to eight bytes for every object
MAX_CHOSEN: Final = 4  # selections of one state that indexes helped; a client may make them long
IDLE_S: Final = 60.0  # a client that has not asked for its next page by then pays for getting there anew


class KeptState(msgspec.Struct, eq=False, weakref=True):
    """A state, and its selected parts; empty after it has expired."""

    since: float
    used: float
    whole: Entries | None = None
    chosen: dict[Selection, Candidates] = msgspec.field(default_factory=dict)

    def expire(self) -> None:
        """Drop the state: it holds too much memory."""
        self.whole = None
        self.chosen.clear()


class KeptStates:
    """Kept states of a resource by revision. Memory that they alone hold counts as that of readers (see `Pins`)."""

    def __init__(self, pins: Pins, history_s: float) -> None:
        self._pins = pins
        self._history_s = history_s
        self._states: dict[int, KeptState] = {}  # the one that was used last is the last one

    def __len__(self) -> int:
        return len(self._states)

    def keep(
        self, revision: int, now: float, selection: Selection, part: Candidates | None, whole: Entries | None
    ) -> None:
        """Keep the state at `revision`: all of it, or candidates of the selection, or both."""
        state = self._states.pop(revision, None)
        if state is None:
            state = KeptState(now, now)
            self._pins.add(state)
        self._states[revision] = state
        state.used = now
        state.whole = state.whole or whole
        if part is not None and len(state.chosen) < MAX_CHOSEN:
            state.chosen[selection] = part
        while len(self._states) > MAX_KEPT:
            del self._states[next(iter(self._states))]

    def find(self, revision: int, now: float, selection: Selection, low: str, high: str) -> Candidates | None:
        """Return candidates of the selection at `revision`, from key `low` on and before `high`; None if not kept."""
        state = self._states.get(revision)
        if state is None or now - state.since > self._history_s:
            return None
        found = state.chosen.get(selection, state.whole)
        if found is None:
            return None
        self._states[revision] = self._states.pop(revision)
        state.used = now
        return found.between(low, high)

    def clear(self) -> None:
        """Forget all states: no client is to read on in them."""
        self._states.clear()

    def trim(self, now: float) -> None:
        """Forget states that no client has used for a while."""
        for revision, state in list(self._states.items()):
            if now - state.used > IDLE_S or now - state.since > self._history_s:
                del self._states[revision]
