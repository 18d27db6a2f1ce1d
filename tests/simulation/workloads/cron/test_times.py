"""Times of schedules (`orchtw.simulation.workloads.cron.times`, reference SIM-47)."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.cron import parse_schedule
from orchtw.simulation.workloads.cron.times import MANY, Times


def times(schedule: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    """The first times of a schedule after a local time, as local times."""
    found, made = Times(parse_schedule(schedule), zone), []
    time = datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone)).timestamp()
    for _ in range(count):
        following = found.after(time)
        if following is None:
            break
        time = following
        made.append(datetime.fromtimestamp(time, ZoneInfo(zone)).strftime("%m-%d %H:%M"))
    return made


class TimesTests(SynchronousTestCase):
    def test_fields(self) -> None:
        """Steps, ranges, lists and names."""
        self.assertEqual(times("*/20 * * * *", "2026-01-01 00:00", 3), ["01-01 00:20", "01-01 00:40", "01-01 01:00"])
        self.assertEqual(times("5 9-10 * * *", "2026-01-01 09:30", 3), ["01-01 10:05", "01-02 09:05", "01-02 10:05"])
        self.assertEqual(times("0 0 * feb,APR mon", "2026-01-01", 2), ["02-02 00:00", "02-09 00:00"])
        self.assertEqual(times("0 12 31 * *", "2026-02-01", 2), ["03-31 12:00", "05-31 12:00"])

    def test_days(self) -> None:
        """A day of the month or one of the week will do if both are restricted."""
        self.assertEqual(times("0 0 13 * fri", "2026-01-08", 3), ["01-09 00:00", "01-13 00:00", "01-16 00:00"])

    def test_macros(self) -> None:
        """The names of schedules, and periods."""
        self.assertEqual(times("@hourly", "2026-01-01 00:10", 1), ["01-01 01:00"])
        self.assertEqual(times("@weekly", "2026-01-01", 1), ["01-04 00:00"])
        self.assertEqual(times("@yearly", "2026-01-01", 1), ["01-01 00:00"])
        self.assertEqual(times("@every 90m", "2026-01-01 00:10", 2), ["01-01 01:40", "01-01 03:10"])

    def test_never(self) -> None:
        """A day that never comes has no time."""
        self.assertEqual(times("0 0 30 2 *", "2026-01-01", 1), [])

    def test_zones(self) -> None:
        """Times are local ones: an hour that is left out has none, one that comes twice has them twice."""
        zone = "America/New_York"
        self.assertEqual(times("30 2 * * *", "2026-03-07 03:00", 1, zone), ["03-09 02:30"])
        self.assertEqual(times("30 1 * * *", "2026-10-31 02:00", 2, zone), ["11-01 01:30", "11-01 01:30"])
        self.assertEqual(times("0 9 * * *", "2026-03-07 10:00", 2, zone), ["03-08 09:00", "03-09 09:00"])

    def test_latest(self) -> None:
        """The last time, near or far, and the number of those missed."""
        base = int(datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")).timestamp())
        minutes, yearly = (Times(parse_schedule(text), "") for text in ("* * * * *", "@yearly"))
        self.assertEqual(minutes.latest(base, base + 86400.5), base + 86400)
        self.assertEqual((minutes.missed(base, base + 300), minutes.missed(base, base + 86400)), (5, MANY + 1))
        self.assertEqual(yearly.latest(base - 10, base + 300 * 86400), base)
        self.assertIsNone(yearly.latest(base, base + 86400))
        period = Times(parse_schedule("@every 1h"), "")
        self.assertEqual((period.latest(base, base + 7201), period.latest(base, base + 60)), (base + 7200, None))

    def test_order(self) -> None:
        """Times always grow, whatever the zone does."""
        found, time = Times(parse_schedule("*/15 * * * *"), "Australia/Lord_Howe"), 1_774_000_000.0
        made = []
        for _ in range(2000):
            time = found.after(time) or 0
            made.append(time)
        self.assertEqual({later - earlier for earlier, later in pairwise(made)}, {900})
