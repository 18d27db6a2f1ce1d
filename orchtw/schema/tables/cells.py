"""Texts of Table cells: ages, lists, labels, selectors (reference TABLE-10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from orchtw.naming.naming import Naming
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
_OPERATORS = {"In": "{} in ({})", "NotIn": "{} notin ({})", "Exists": "{}", "DoesNotExist": "!{}"}


class Age(msgspec.Struct, frozen=True):
    """A cell whose text is made when the Table is written: the age since `start_s`, in seconds since 1970."""

    start_s: float

    def text(self, now_s: float) -> str:
        """Return the age as of `now_s`."""
        return human_duration(now_s - self.start_s)


class TableView(msgspec.Struct, kw_only=True, eq=False):
    """Context of cell functions: the time that ages refer to, and the names of the vocabulary.

    A cell function may add row conditions. With `lazy`, ages are `Age` values, so that the row can be kept; `passing`
    is set when another cell depends on the time all the same.
    """

    time_s: float
    naming: Naming
    conditions: list[Object] = msgspec.field(default_factory=list)
    lazy: bool = False
    passing: bool = False

    @property
    def now_s(self) -> float:
        """The time, in seconds since 1970, for cells that depend on it."""
        self.passing = True
        return self.time_s

    def age(self, obj: Object) -> str | Age:
        """Return the age of the object."""
        time = obj["metadata"].get("creationTimestamp")
        if not time:
            return UNKNOWN
        age = Age(parse_time(time)[0])
        return age if self.lazy else age.text(self.time_s)

    def since(self, time: str | None) -> str:
        """Return the age of `time`, in RFC 3339."""
        if not time:
            return UNKNOWN
        seconds, microseconds = parse_time(time)
        return human_duration(self.now_s - seconds - microseconds / 1e6)


Cells = Callable[[Object, TableView], list[Any]]
"""Function that makes the cells of an object's row, one a column. The object is in the storage version."""


def human_duration(seconds: float) -> str:
    """Return an approximate text of `seconds` in one or two units."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(0, whole)}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(whole: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    rest = whole % unit // smaller
    return f"{whole // unit}{name}" + (f"{rest}{smaller_name}" if rest else "")


def pairs(values: Mapping[str, str] | None) -> str:
    """Return a map as `k=v,k=v` in key order."""
    return ",".join(f"{key}={value}" for key, value in sorted(values.items())) if values else NONE


def selector(value: Object | None) -> str:
    """Return a LabelSelector object in the query form."""
    if not value:
        return NONE
    terms = [(key, f"{key}={text}") for key, text in (value.get("matchLabels") or {}).items()]
    for entry in value.get("matchExpressions") or ():
        form = _OPERATORS.get(entry["operator"])
        if form is None:
            return "<error>"
        values = ",".join(sorted(entry.get("values") or ()))
        terms.append((entry["key"], form.format(entry["key"], values)))
    return ",".join(text for _, text in sorted(terms)) or NONE


def some(texts: Sequence[str], *, limit: int = 3, empty: str = NONE) -> str:
    """Return up to `limit` texts, and the number of others."""
    if not texts:
        return empty
    shown = ",".join(texts[:limit])
    more = len(texts) - limit
    return f"{shown} + {more} more..." if more > 0 else shown


def names(containers: Iterable[Object]) -> str:
    """Return the names of containers."""
    return ",".join(container.get("name", "") for container in containers)


def images(containers: Iterable[Object]) -> str:
    """Return the images of containers."""
    return ",".join(container.get("image", "") for container in containers)


def condition(obj: Object, kind: str) -> Object | None:
    """Return the condition of type `kind` in an object's status."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry.get("type") == kind), None)


def boolean(value: bool) -> str:
    """Return the text `true` or `false`."""
    return "true" if value else "false"
