"""CronJob schedules: five fields or a descriptor, maybe after a time zone (reference KIND-62)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from orchtw.values.causes import go_quote
from orchtw.values.times import parse_duration

_SHOWN_CHARACTERS = 100  # most characters of a schedule quoted in a message
_SPACE = re.compile(r"[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_NUMBER = re.compile(r"([+-]?)0*([0-9]+)")
_DIGITS = 19  # of a 64-bit integer

_ZONES = ("TZ=", "CRON_TZ=")
_EVERY = "@every "
_DESCRIPTORS: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


_NO_NAMES: Final[Mapping[str, int]] = {}


class _Field(msgspec.Struct, frozen=True):
    """Range of a field's numbers, and the names that stand for some, in lower case."""

    least: int
    most: int
    names: Mapping[str, int] = _NO_NAMES


_FIELDS: Final = (
    _Field(0, 59),
    _Field(0, 23),
    _Field(1, 31),
    _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
"""The fields in order: minute, hour, day of the month, month, day of the week."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule: the numbers of each field in their order, or a period.

    `free`: the days of the month or of the week are not restricted, so that a day has to be in both fields; else in
    either. `zone` is that of the schedule itself, empty without one; `every_s` is 0 without a period.
    """

    zone: str = ""
    every_s: int = 0
    fields: tuple[frozenset[int], ...] = ()
    free: bool = True


class _Refused(ValueError):
    """An invalid schedule; the text says why."""


def schedule_error(schedule: str) -> str:
    """Return the reason why a schedule is invalid, or ""."""
    try:
        parse_schedule(schedule)
    except _Refused as refusal:
        return str(refusal)
    return ""


def zone_error(name: str) -> str:
    """Return the reason why a time zone's name is invalid, or "". An empty name is UTC."""
    if ".." in name or name[:1] in ("/", "\\"):
        return "time: invalid location name"
    return "" if name in ("", "UTC", "Local") or _is_zone(name) else f"unknown time zone {_shown(name)}"


@lru_cache(maxsize=64)
def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo  # few schedules name one

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, malformed, or a directory of zones
        return False
    return True


def parse_schedule(schedule: str) -> Schedule:
    """Return a schedule. Raises ValueError with the reason why it is invalid."""
    if not schedule:
        raise _Refused("empty spec string")
    zone = ""
    if schedule.startswith(_ZONES):
        given, _, schedule = schedule.partition(" ")
        zone = given.partition("=")[2]
        if error := zone_error(zone):
            raise _Refused(f"provided bad location {_shown(zone)}: {error}")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        return _parse_descriptor(schedule, zone)
    texts = [field for field in _SPACE.split(schedule) if field]
    if len(texts) != len(_FIELDS):
        shown = _shown(" ".join(texts))
        raise _Refused(f"expected exactly {len(_FIELDS)} fields, found {len(texts)}: [{shown}]")
    fields, stars = [], []
    for text, field in zip(texts, _FIELDS, strict=True):
        ranges = [_parse_range(part, field) for part in filter(None, text.split(","))]
        fields.append(frozenset(number for numbers, _ in ranges for number in numbers))
        stars.append(any(star for _, star in ranges))
    return Schedule(zone=zone, fields=tuple(fields), free=stars[2] or stars[4])


def _parse_descriptor(text: str, zone: str) -> Schedule:
    if text in _DESCRIPTORS:
        return msgspec.structs.replace(parse_schedule(_DESCRIPTORS[text]), zone=zone)
    if not text.startswith(_EVERY):
        raise _Refused(f"unrecognized descriptor: {_shown(text)}")
    duration = text[len(_EVERY) :]
    try:
        period = parse_duration(duration)
    except ValueError:
        why = f"time: invalid duration {go_quote(_shown(duration))}"
        raise _Refused(f"failed to parse duration {_shown(text)}: {why}") from None
    return Schedule(zone=zone, every_s=max(1, period // 10**9))


def _parse_range(text: str, field: _Field) -> tuple[range, bool]:
    """Return the numbers of one range (`5`, `1-5` or `*`, each maybe with `/step`), and whether it is all of them.

    Raises _Refused.
    """
    shown = _shown(text)
    span, *steps = text.split("/", 2)
    first, *rest = span.split("-", 2)
    star = first in ("*", "?")
    if star:
        start, end = field.least, field.most
    else:
        start = end = _number(first, field.names)
        if len(rest) == 1:
            end = _number(rest[0], field.names)
        elif rest:
            raise _Refused(f"too many hyphens: {shown}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        end = end if rest else field.most
    elif steps:
        raise _Refused(f"too many slashes: {shown}")
    if start < field.least:
        raise _Refused(f"beginning of range ({start}) below minimum ({field.least}): {shown}")
    if end > field.most:
        raise _Refused(f"end of range ({end}) above maximum ({field.most}): {shown}")
    if start > end:
        raise _Refused(f"beginning of range ({start}) beyond end of range ({end}): {shown}")
    if step == 0:
        raise _Refused(f"step of range should be a positive number: {shown}")
    return range(start, end + 1, step), star and step == 1


def _number(text: str, names: Mapping[str, int] = _NO_NAMES) -> int:
    if (named := names.get(text.lower())) is not None:
        return named
    found, shown = _NUMBER.fullmatch(text), _shown(text)
    if found is None or len(found[2]) > _DIGITS:
        why = "value out of range" if found else "invalid syntax"
        raise _Refused(f"failed to parse int from {shown}: strconv.Atoi: parsing {go_quote(shown)}: {why}")
    if found[1] == "-" and int(found[2]):
        raise _Refused(f"negative number (-{found[2]}) not allowed: {shown}")
    return int(found[2])


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
