"""Timer wheel for bookmarks and deadlines of watchers: short slots, turned by one timer of the process."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import Final, Protocol

BOOKMARK_INTERVAL_S: Final = 60.0  # reference WATCH-12
BOOKMARK_BEFORE_DEADLINE_S: Final = 2.0  # reference WATCH-12
RESOLUTION_S: Final = 0.25  # how late a deadline may be noticed
_GOLDEN: Final = 0.6180339887498949  # its multiples, modulo one, are spread evenly for any number of them


class Timed(Protocol):
    """Receiver of `on_time` calls at or soon after a time. `slot` belongs to the wheel."""

    slot: int

    def on_time(self, now: float) -> None:
        """Handle the time that was armed."""


class TimerWheel:
    """Timer wheel with slots of RESOLUTION_S; arming and disarming cost the same for any number of members."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._turned = int(now / RESOLUTION_S)
        self._slots: dict[int, dict[Timed, None]] = {}
        self._due: dict[Timed, None] = {}
        self._phase = 0.0

    def arm(self, member: Timed, at: float) -> None:
        """Call the member's `on_time` in the first tick at or after `at`, replacing an earlier request."""
        self.disarm(member)
        if at == inf:
            return
        slot = max(ceil(at / RESOLUTION_S), self._turned + 1)
        member.slot = slot
        self._slots.setdefault(slot, {})[member] = None

    def disarm(self, member: Timed) -> None:
        """Forget the member; nothing happens if it is not armed."""
        self._due.pop(member, None)
        slot = self._slots.get(member.slot)
        if slot is not None and member in slot:
            del slot[member]
            if not slot:
                del self._slots[member.slot]

    def tick(self, now: float, seconds: Callable[[], float] | None = None, end: float = inf) -> bool:
        """Wake the due members, until `seconds` reaches `end`. Called about every RESOLUTION_S.

        Reports whether some of them are left for the next tick.
        """
        self.now = now
        turned, self._turned = self._turned, int(now / RESOLUTION_S)
        due = range(turned + 1, self._turned + 1)
        if len(due) > len(self._slots):  # a long gap: check the existing slots
            passed = sorted(slot for slot in self._slots if slot <= self._turned)
        else:
            passed = [slot for slot in due if slot in self._slots]
        for slot in passed:
            self._due.update(self._slots.pop(slot))
        for member in list(self._due):
            if member in self._due:  # unless an earlier member has disarmed it
                del self._due[member]
                member.on_time(now)
            if seconds is not None and seconds() >= end:
                break
        return bool(self._due)

    def first_bookmark(self, deadline: float) -> float:
        """Return the time of a new member's first bookmark: 30 to 60 s from now, spread over that time."""
        self._phase = (self._phase + _GOLDEN) % 1.0
        return next_bookmark(self.now - BOOKMARK_INTERVAL_S / 2 * self._phase, self.now, deadline)


def next_bookmark(last: float, now: float, deadline: float) -> float:
    """Return `last` plus an interval, or 2 s before the deadline if that is sooner; infinity once that has passed."""
    final = deadline - BOOKMARK_BEFORE_DEADLINE_S
    return min(last + BOOKMARK_INTERVAL_S, final) if now < final else inf
