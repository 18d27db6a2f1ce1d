"""When watchers need attention: a wheel of short slots, turned by one timer of the process."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import Final, Protocol

BOOKMARK_INTERVAL_S: Final = 60.0  # reference WATCH-12
BOOKMARK_BEFORE_DEADLINE_S: Final = 2.0  # reference WATCH-12
RESOLUTION_S: Final = 0.25  # how late a deadline may be noticed
_GOLDEN: Final = 0.6180339887498949  # multiples of it, modulo one, spread evenly however many there are


class Timed(Protocol):
    """Something that wants `on_time` at or soon after a time. `slot` belongs to the wheel."""

    slot: int

    def on_time(self, now: float) -> None:
        """The time asked for has come."""


class TimerWheel:
    """Puts members in slots of RESOLUTION_S; arming, moving and disarming cost the same for any number of them."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._turned = int(now / RESOLUTION_S)
        self._slots: dict[int, dict[Timed, None]] = {}
        self._due: dict[Timed, None] = {}
        self._phase = 0.0

    def arm(self, member: Timed, at: float) -> None:
        """Call the member's `on_time` in the first tick at or after `at`, instead of any earlier wish."""
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
        """Wake those whose time has come, until `seconds` says `end`. To be called every RESOLUTION_S or so.

        Returns whether some of them are left for the next tick.
        """
        self.now = now
        turned, self._turned = self._turned, int(now / RESOLUTION_S)
        due = range(turned + 1, self._turned + 1)
        if len(due) > len(self._slots):  # a long gap: look at the slots there are
            passed = sorted(slot for slot in self._slots if slot <= self._turned)
        else:
            passed = [slot for slot in due if slot in self._slots]
        for slot in passed:
            self._due.update(self._slots.pop(slot))
        for member in list(self._due):
            if member in self._due:  # nobody who was woken before has disarmed it
                del self._due[member]
                member.on_time(now)
            if seconds is not None and seconds() >= end:
                break
        return bool(self._due)

    def first_bookmark(self, deadline: float) -> float:
        """When a new member gets its first bookmark: 30 to 60 s from now, spread so that few are due at once."""
        self._phase = (self._phase + _GOLDEN) % 1.0
        return next_bookmark(self.now - BOOKMARK_INTERVAL_S / 2 * self._phase, self.now, deadline)


def next_bookmark(last: float, now: float, deadline: float) -> float:
    """An interval after `last`, or 2 s before the deadline if that is sooner; infinity when that has passed."""
    final = deadline - BOOKMARK_BEFORE_DEADLINE_S
    return min(last + BOOKMARK_INTERVAL_S, final) if now < final else inf
