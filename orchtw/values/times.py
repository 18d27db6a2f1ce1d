"""Times and durations between JSON text and numbers (reference ENC-19)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d{0,20})?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
ZERO_TIME_S = -62135596800  # year 1, Go's zero time, which JSON shows as null
_CACHED = 4096  # one second's stamps are shared by every object written in it

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(r"(\d{1,30})?(?:\.(\d{0,30}))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONGEST_DURATION = 2**63 - 1
_LONGEST_DURATION_TEXT = 1024  # characters; the longest meaningful one has some thirty


@lru_cache(maxsize=_CACHED)
def parse_time(text: str) -> tuple[int, int]:
    """Parse an RFC 3339 time of years 1 to 9999 into seconds since 1970 and microseconds. Raises ValueError."""
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time")
    date, clock, fraction, sign, hours, minutes = match.groups()
    moment = datetime.fromisoformat(f"{date}T{clock}+00:00")
    seconds = (moment - _EPOCH) // _SECOND
    if sign:
        if int(hours) > 24 or int(minutes) > 59:
            raise ValueError("not an RFC 3339 offset")
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds += offset if sign == "-" else -offset
    return seconds, int((fraction or "0").ljust(6, "0")[:6])


@lru_cache(maxsize=_CACHED)
def time_text(seconds: int) -> str | None:
    """Return RFC 3339 text in UTC with seconds; None for the zero time. OverflowError outside years 1–9999."""
    if seconds == ZERO_TIME_S:
        return None
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19] + "Z"


@lru_cache(maxsize=64)
def rfc3339(second: int) -> str:
    """Return RFC 3339 text in UTC with seconds, as the server writes its own times. Raises ValueError."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time_text(seconds: int, microseconds: int) -> str | None:
    """Return RFC 3339 text in UTC with six fractional digits; None for the zero time."""
    whole = time_text(seconds)
    if whole is None:
        return None if not microseconds else f"0001-01-01T00:00:00.{microseconds:06}Z"
    return f"{whole[:-1]}.{microseconds:06}Z"


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a Go duration such as "1h0m0s" or "-1.5s". Raises ValueError."""
    body = text[1:] if text[:1] in ("-", "+") else text
    if len(body) > _LONGEST_DURATION_TEXT:
        raise ValueError("not a duration: too long")
    if body == "0":
        return 0
    total = position = 0
    while position < len(body):
        part = _DURATION_PART.match(body, position)
        if part is None or not (part[1] or part[2]):
            raise ValueError("not a duration")
        scale = _NANOSECONDS[part[3]]
        fraction = part[2] or ""
        total += int(part[1] or "0") * scale + int(fraction or "0") * scale // 10 ** len(fraction)
        position = part.end()
    if not body or total > _LONGEST_DURATION:
        raise ValueError("not a duration of 64 bits")
    return -total if text[0] == "-" else total


def duration_text(nanoseconds: int) -> str:
    """Return Go's text of a duration: "1h0m0s", "1.5s", "100ms", "0s"."""
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < 10**9:
        unit, scale = next((unit, _NANOSECONDS[unit]) for unit in ("ms", "µs", "ns") if left >= _NANOSECONDS[unit])
        return f"{sign}{_decimal(left, scale)}{unit}"
    minutes, rest = divmod(left, 60 * 10**9)
    text = f"{_decimal(rest, 10**9)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _decimal(amount: int, scale: int) -> str:
    whole, part = divmod(amount, scale)
    fraction = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)
