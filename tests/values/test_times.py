"""Times and durations between text and numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.times import (
    ZERO_TIME_S,
    duration_text,
    micro_time_text,
    parse_duration,
    parse_time,
    rfc3339,
    time_text,
)
from tests.properties import examples

TIMES = {
    "1970-01-01T00:00:00Z": (0, 0),
    "2026-01-02T03:04:05Z": (1767323045, 0),
    "2026-01-02T03:04:05.1Z": (1767323045, 100000),
    "2026-01-02T03:04:05.1234567891Z": (1767323045, 123456),
    "2026-01-02T05:04:05+02:00": (1767323045, 0),
    "2026-01-01T21:34:05-05:30": (1767323045, 0),
    "0001-01-01T00:00:00Z": (ZERO_TIME_S, 0),
    "1969-12-31T23:59:59Z": (-1, 0),
}
NO_TIMES = (
    "",
    "2026-01-02",
    "2026-01-02T03:04:05",
    "2026-01-02 03:04:05Z",
    "2026-13-02T03:04:05Z",
    "2026-02-30T03:04:05Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T03:04:60Z",
    "0000-01-01T00:00:00Z",
    "2026-01-02T03:04:05+99:00",
    "2026-01-02T03:04:05z",
)
DURATIONS = {
    "0": "0s",
    "1h": "1h0m0s",
    "90s": "1m30s",
    "1.5h": "1h30m0s",
    "-1.5s": "-1.5s",
    "100ms": "100ms",
    "1us": "1µs",
    "1μs": "1µs",
    "1500ns": "1.5µs",
    "1h2m3.004s": "1h2m3.004s",
    "+5m": "5m0s",
}
NO_DURATIONS = ("", "1", "h", "1d", "1h 2m", "-", "999999999h", ".s", "1e3s")


class TimeTests(SynchronousTestCase):
    def test_parse(self) -> None:
        """Any RFC 3339 time in any zone is read to the microsecond (reference ENC-19)."""
        for text, expected in TIMES.items():
            self.assertEqual(parse_time(text), expected, text)

    def test_own(self) -> None:
        """A time of the server's is written in UTC, with whole seconds."""
        self.assertEqual([rfc3339(0), rfc3339(1_767_323_045)], ["1970-01-01T00:00:00Z", "2026-01-02T03:04:05Z"])

    def test_refused(self) -> None:
        """Anything else is refused, impossible days and hours too."""
        for text in NO_TIMES:
            self.assertRaises(ValueError, parse_time, text)

    def test_text(self) -> None:
        """Text is UTC with second precision, or exactly six digits; the zero time is null (reference ENC-17)."""
        self.assertEqual(time_text(1767323045), "2026-01-02T03:04:05Z")
        self.assertEqual(time_text(-1), "1969-12-31T23:59:59Z")
        self.assertIsNone(time_text(ZERO_TIME_S))
        self.assertEqual(micro_time_text(1767323045, 10), "2026-01-02T03:04:05.000010Z")
        self.assertIsNone(micro_time_text(ZERO_TIME_S, 0))

    def test_out_of_range(self) -> None:
        """Seconds outside the years 1 to 9999 overflow instead of wrapping."""
        for seconds in (2**62, -(2**62), 253402300800):
            self.assertRaises(OverflowError, time_text, seconds)


class DurationTests(SynchronousTestCase):
    def test_text(self) -> None:
        """Durations are Go strings (reference OBJ-17)."""
        for text, canonical in DURATIONS.items():
            self.assertEqual(duration_text(parse_duration(text)), canonical, text)

    def test_refused(self) -> None:
        """A duration that Go refuses raises ValueError, overflow of 64 bits included."""
        for text in NO_DURATIONS:
            self.assertRaises(ValueError, parse_duration, text)

    @examples(200)
    @given(st.integers(-(2**63) + 1, 2**63 - 1))
    def test_round_trip(self, nanoseconds: int) -> None:
        """Every duration's text means that duration."""
        self.assertEqual(parse_duration(duration_text(nanoseconds)), nanoseconds)
