"""Library functions of times and durations."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import Overload, overload
from orchtw.schema.cel.values import LARGEST, LEAST, Duration, Timestamp
from orchtw.values.times import parse_duration

_SECOND: Final = 10**9
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d{0,20})?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_OFFSET: Final = re.compile(r"([+-]?)(\d{1,2}):(\d\d)", re.ASCII)
_SPAN: Final = re.compile(r"(-?\d{1,18})\s*([A-Za-zµ]+)", re.ASCII)
_UNITS: Final = {
    1: ("ns", "nano", "nanos", "nanosecond", "nanoseconds", "nanosec", "nanosecs"),
    10**3: ("us", "µs", "micro", "micros", "microsecond", "microseconds", "microsec", "microsecs"),
    10**6: ("ms", "milli", "millis", "millisecond", "milliseconds", "millisec", "millisecs"),
    _SECOND: ("s", "sec", "secs", "second", "seconds"),
    60 * _SECOND: ("m", "min", "mins", "minute", "minutes"),
    3600 * _SECOND: ("h", "hr", "hrs", "hour", "hours"),
    86400 * _SECOND: ("d", "day", "days"),
    7 * 86400 * _SECOND: ("w", "wk", "wks", "week", "weeks"),
}
_NANOSECONDS: Final = {name: size for size, names in _UNITS.items() for name in names}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62135596800 * _SECOND, 253402300800 * _SECOND - 1  # the years 1 to 9999
_DAYS_OF_WEEK: Final = 7


def timestamp_value(text: str) -> Timestamp:
    """Return the time of an RFC 3339 text. Raises Failure."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise Failure(f'parsing time "{text[:64]}" as RFC 3339 failed')
    date, clock, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}+00:00")
    except ValueError as error:
        raise Failure(f'parsing time "{text[:64]}": out of range') from error
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if sign:
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds += offset if sign == "-" else -offset
    return _timestamp(seconds * _SECOND + int((fraction or "0").ljust(9, "0")))


def duration_value(text: str) -> Duration:
    """Return the span of a text such as "1h30m" or "3 days". Raises Failure."""
    try:
        return Duration(parse_duration(text))
    except ValueError as error:
        match = _SPAN.fullmatch(text)
        unit = _NANOSECONDS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            raise Failure(f'time: invalid duration "{text[:64]}"') from error
        return _duration(int(match[1]) * unit)


def _timestamp(nanoseconds: int) -> Timestamp:
    if _FIRST <= nanoseconds <= _LAST:
        return Timestamp(nanoseconds)
    raise Failure("timestamp overflow")


def _duration(nanoseconds: int) -> Duration:
    if LEAST <= nanoseconds <= LARGEST:
        return Duration(nanoseconds)
    raise Failure("duration overflow")


def timestamp_text(moment: Timestamp) -> str:
    """Return RFC 3339 text with as many digits as are needed."""
    seconds, rest = divmod(moment.nanoseconds, _SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{text}{fraction}Z"


def duration_text(span: Duration) -> str:
    """Return the seconds with as many digits as are needed."""
    sign = "-" if span.nanoseconds < 0 else ""
    seconds, rest = divmod(abs(span.nanoseconds), _SECOND)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{sign}{seconds}{fraction}s"


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    """Return a time zone by its name in the zone database or its offset from UTC. Raises Failure."""
    if match := _OFFSET.fullmatch(name):
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    elif len(name) <= 64:
        try:
            return UTC if name in ("", "UTC") else ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            pass
    raise Failure(f"unknown time zone {name[:64]}")


def _local(moment: Timestamp, zone: str = "UTC") -> datetime:
    try:
        return (_EPOCH + timedelta(seconds=moment.nanoseconds // _SECOND)).astimezone(_zone(zone))
    except OverflowError as error:
        raise Failure("timestamp overflow") from error


_PARTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % _DAYS_OF_WEEK,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
_LENGTHS: Final = {
    "getHours": 3600 * _SECOND,
    "getMinutes": 60 * _SECOND,
    "getSeconds": _SECOND,
    "getMilliseconds": 10**6,
}


def _truncated(number: int, size: int) -> int:
    return number // size if number >= 0 else -(-number // size)


def _milliseconds(moment: Timestamp, zone: str = "UTC") -> int:
    return moment.nanoseconds % _SECOND // 10**6


def _parts() -> list[Overload]:
    found = []
    for name, part in _PARTS.items():

        def run(moment: Timestamp, zone: str = "UTC", part: Callable[[datetime], int] = part) -> int:
            return part(_local(moment, zone))

        found += [overload(f"timestamp.{name}({zone}) -> int", run, lambda *_: 20) for zone in ("", "string")]
    for zone in ("", "string"):
        found.append(overload(f"timestamp.getMilliseconds({zone}) -> int", _milliseconds))
    for name, size in _LENGTHS.items():

        def length(span: Duration, size: int = size) -> int:
            return _truncated(span.nanoseconds, size)

        found.append(overload(f"duration.{name}() -> int", length))
    return found


FUNCTIONS: Final = (
    *_parts(),
    overload("timestamp(string) -> timestamp", timestamp_value, lambda _: 20),
    overload("timestamp(timestamp) -> timestamp", lambda moment: moment),
    overload("timestamp(int) -> timestamp", lambda seconds: _timestamp(seconds * _SECOND)),
    overload("duration(string) -> duration", duration_value, lambda _: 20),
    overload("duration(duration) -> duration", lambda span: span),
    overload("int(timestamp) -> int", lambda moment: moment.nanoseconds // _SECOND),
    overload("int(duration) -> int", lambda span: span.nanoseconds),
    overload("string(timestamp) -> string", timestamp_text, lambda _: 20),
    overload("string(duration) -> string", duration_text, lambda _: 20),
    overload("_+_(timestamp, duration) -> timestamp", lambda a, b: _timestamp(a.nanoseconds + b.nanoseconds)),
    overload("_+_(duration, timestamp) -> timestamp", lambda a, b: _timestamp(a.nanoseconds + b.nanoseconds)),
    overload("_+_(duration, duration) -> duration", lambda a, b: _duration(a.nanoseconds + b.nanoseconds)),
    overload("_-_(timestamp, timestamp) -> duration", lambda a, b: _duration(a.nanoseconds - b.nanoseconds)),
    overload("_-_(timestamp, duration) -> timestamp", lambda a, b: _timestamp(a.nanoseconds - b.nanoseconds)),
    overload("_-_(duration, duration) -> duration", lambda a, b: _duration(a.nanoseconds - b.nanoseconds)),
)
