"""Schedules of cron jobs (reference KIND-62)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.cron import schedule_error


class ScheduleTests(SynchronousTestCase):
    def test_schedules(self) -> None:
        """Five fields of numbers, names, ranges, steps and lists, or a descriptor, after a time zone or none."""
        for schedule in (
            "* * * * *",
            "0 0 1 1 0",
            "59 23 31 12 6",
            "*/15 0-6/2,12 ? JAN-dec Sun,mon",
            "5/10 1,2,, 01 * *",
            "  0\t0 * * *  ",
            "@yearly",
            "@annually",
            "@monthly",
            "@weekly",
            "@daily",
            "@midnight",
            "@hourly",
            "@every 90s",
            "@every 1h30m0.5s",
            "TZ=Europe/Berlin 0 0 * * *",
            "CRON_TZ=UTC   @daily",
            "TZ= 0 0 * * *",
            "*-5 * * * *",
        ):
            self.assertEqual(schedule_error(schedule), "", schedule)

    def test_refusals(self) -> None:
        """The texts are those of the parser that the release has."""
        atoi = 'strconv.Atoi: parsing "{0}": {1}'
        for schedule, text in [
            ("", "empty spec string"),
            ("x", "expected exactly 5 fields, found 1: [x]"),
            ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* 24 * * *", "end of range (24) above maximum (23): 24"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("* * * 13 *", "end of range (13) above maximum (12): 13"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
            ("* * * * 5-1", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("*/1/2 * * * *", "too many slashes: */1/2"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("a * * * *", "failed to parse int from a: " + atoi.format("a", "invalid syntax")),
            ("* * * xyz *", "failed to parse int from xyz: " + atoi.format("xyz", "invalid syntax")),
            ("1_0 * * * *", "failed to parse int from 1_0: " + atoi.format("1_0", "invalid syntax")),
            ("1-x * * * *", "failed to parse int from x: " + atoi.format("x", "invalid syntax")),
            ("-1 * * * *", "failed to parse int from : " + atoi.format("", "invalid syntax")),
            ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
            ("@never", "unrecognized descriptor: @never"),
            ("@DAILY", "unrecognized descriptor: @DAILY"),
            ("@every 5", 'failed to parse duration @every 5: time: invalid duration "5"'),
            ("@every", "unrecognized descriptor: @every"),
            ("TZ=Nowhere 0 0 * * *", "provided bad location Nowhere: unknown time zone Nowhere"),
            ("TZ=UTC", "expected exactly 5 fields, found 0: []"),
            ("CRON_TZ=../x * * * * *", "provided bad location ../x: time: invalid location name"),
        ]:
            self.assertEqual(schedule_error(schedule), text, schedule)

    def test_long_texts(self) -> None:
        """Of what is long only the beginning is told, and numbers have 64 bits."""
        self.assertEqual(
            schedule_error("9" * 1_000_000 + " * * * *"),
            f'failed to parse int from {"9" * 100}...: strconv.Atoi: parsing "{"9" * 100}...": value out of range',
        )
        self.assertLess(len(schedule_error("x " * 1_000_000)), 300)
        self.assertEqual(schedule_error("0" * 1_000_000 + "5 * * * *"), "")
        self.assertEqual(schedule_error("," * 1_000_000 + " * * * *"), "")
