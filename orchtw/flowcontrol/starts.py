"""Order in which requests begin when one turn of the reactor has more of them than it can hold (reference FLOW-10).

A turn of the reactor reads everything that has arrived from all clients. So when requests of one turn have taken
SLICE_S, the others wait, and begin user by user, one slice a turn. A user with one request then waits for one request
of each other user, not for all of theirs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.flowcontrol.queueset import Seating

SLICE_S: Final = 0.004
LOOK_EVERY: Final = 16
"""Number of requests that begin without reading the clock: so few are harmless, and each reading costs."""

Call = Callable[[Seating], bool]
"""Function that seats the next request of a level and begins it; False: there is none."""


class Starts:
    """Fair order of beginning requests. `call_soon` runs a function in the next turn of the reactor."""

    def __init__(
        self, seconds: Callable[[], float], call_soon: Callable[[Callable[[], None]], Any], call: Call
    ) -> None:
        self._seconds = seconds
        self._call_soon = call_soon
        self._call = call
        self._users: OrderedDict[Hashable, OrderedDict[Deferred[None], None]] = OrderedDict()
        self._levels: dict[Seating, None] = {}
        self._begun = 0
        self._end: float | None = None

    @property
    def waiting(self) -> int:
        """Number of requests that wait for their turn."""
        return sum(map(len, self._users.values()))

    def free(self) -> bool:
        """Report whether a new request may begin at once."""
        if self._users:
            return False
        self._begun += 1
        if self._begun < LOOK_EVERY:
            return True
        if self._end is None:
            self._end = self._seconds() + SLICE_S
            self._call_soon(self._turn)
            return True
        return self._seconds() < self._end

    def turn(self, user: Hashable) -> Deferred[None]:
        """Wait for this user's turn; a cancelled wait leaves the line."""
        waiting: Deferred[None] = Deferred(lambda gone: self._leave(user, gone))
        line = self._users.get(user)
        if line is None:
            line = self._users[user] = OrderedDict()
        line[waiting] = None
        self._wake()
        return waiting

    def freed(self, seating: Seating) -> None:
        """Note free seats that requests wait for; they are assigned in the next turn."""
        self._levels[seating] = None
        self._wake()

    def _wake(self) -> None:
        if self._end is None:
            self._end = self._seconds() + SLICE_S
            self._call_soon(self._turn)

    def _leave(self, user: Hashable, gone: Deferred[None]) -> None:
        line = self._users.get(user)
        if line is not None and line.pop(gone, gone) is None and not line:
            del self._users[user]

    def _turn(self) -> None:
        """Run one slice: alternately a newly seated request and one of the waiting users."""
        end = self._end = self._seconds() + SLICE_S
        while self._levels or self._users:
            if self._levels:
                self._next_of_level()
            if self._users:
                self._next_user()
            if self._seconds() >= end:
                break
        self._begun = 0
        if self._levels or self._users:
            self._call_soon(self._turn)
        else:
            self._end = None

    def _next_of_level(self) -> None:
        seating = next(iter(self._levels))
        del self._levels[seating]
        if self._call(seating):
            self._levels[seating] = None

    def _next_user(self) -> None:
        user, line = self._users.popitem(last=False)
        waiting, _ = line.popitem(last=False)
        if line:
            self._users[user] = line
        waiting.callback(None)
