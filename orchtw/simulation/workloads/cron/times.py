"""Times of a schedule, in seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from orchtw.rules.cron import Schedule

_HORIZON_S: Final = 5 * 366 * 86400
"""A schedule that names no time in as long, such as the 30th of February, has none."""
_WINDOWS_S: Final = (3600, 86400, 32 * 86400, 367 * 86400, _HORIZON_S)
MANY: Final = 100
"""Missed starts from which on users are warned."""


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "Local"):
        return UTC
    from zoneinfo import ZoneInfo  # few schedules name one

    return ZoneInfo(name)


class Times:
    """The times of one schedule in a time zone, "" for UTC."""

    def __init__(self, schedule: Schedule, zone: str) -> None:
        self._schedule = schedule
        name = schedule.zone or zone
        self._zone = _zone(name)

    def after(self, moment: float) -> int | None:
        """Return the first scheduled time after that moment; None if the schedule has no later time."""
        if self._schedule.every_s:
            return int(moment) + self._schedule.every_s
        time, end = (int(moment) // 60 + 1) * 60, moment + _HORIZON_S
        while time <= end:
            following = self._later(time)
            if following == time:
                return time
            time = following
        return None

    def latest(self, since: float, now: float) -> int | None:
        """Return the last time after `since` and until `now`, or None."""
        if self._schedule.every_s:
            count = int(now - int(since)) // self._schedule.every_s
            return int(since) + count * self._schedule.every_s if count > 0 else None
        for window in _WINDOWS_S:
            start = max(since, now - window)
            found = None
            time = self.after(start)
            while time is not None and time <= now:
                found, time = time, self.after(time)
            if found is not None or start <= since:
                return found
        return None

    def missed(self, since: float, now: float) -> int:
        """Return the number of times after `since` and until `now`, no more than one above MANY."""
        count, time = 0, self.after(since)
        while time is not None and time <= now and count <= MANY:
            count, time = count + 1, self.after(time)
        return count

    def _later(self, time: int) -> int:
        """Return the time itself if the schedule names it, else a later one before which it names none."""
        local = datetime.fromtimestamp(time, self._zone)
        minutes, hours, _, months, _ = self._schedule.fields
        if local.month not in months or not self._has_day(local):
            midnight = datetime(local.year, local.month, local.day, tzinfo=self._zone) + timedelta(days=1)
            return max(int(midnight.timestamp()), time + 60)
        if local.hour not in hours:
            return time + 3600 - local.minute * 60
        return time if local.minute in minutes else time + 60

    def _has_day(self, local: datetime) -> bool:
        _, _, days, _, weekdays = self._schedule.fields
        found = local.day in days, local.isoweekday() % 7 in weekdays
        return all(found) if self._schedule.free else any(found)
