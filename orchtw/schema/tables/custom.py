"""The rows of custom kinds: cells by the paths of the columns in their definition (reference CRD-19, CRD-60)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import orjson

from orchtw.schema.declarations import Column
from orchtw.schema.jsonpath.path import Path
from orchtw.schema.jsonpath.steps import MISSING, PathError, StepBudget
from orchtw.schema.tables.cells import UNKNOWN, Age, Cells, TableView, boolean
from orchtw.values.times import ZERO_TIME_S, parse_time
from orchtw.wire.objects import Object

MAX_COLUMNS: Final = 256
"""Limit of the columns that are shown: more than anybody reads, and it bounds the cost of a row."""

NAME: Final = Column(
    name="Name",
    type="string",
    format="name",
    priority=0,
    cell="The object's name, which is unique in its namespace for the kind and never changes.",
)
AGE: Final = Column(
    name="Age",
    type="date",
    format="",
    priority=0,
    cell="Time when the server created the object, in RFC 3339 form and UTC.",
    path=".metadata.creationTimestamp",
)
_CHARACTERS_A_STEP: Final = 64  # of JSON text in a cell, added to the values that paths visit
_INVALID: Final = "<invalid>"
_NOT_THERE: Final = "<no value>"
_JSON_ESCAPES: Final = (
    (b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"), ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)  # fmt: skip
_LARGEST_INTEGRAL: Final = 1 << 63
_LOWEST_POWER, _EXPONENT_POWER = -4, 6

Cell = Callable[[Object, TableView, StepBudget], Any]
Show = Callable[[Any, TableView, StepBudget], Any]


def shown_columns(asked: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns of a Table: the name, and those of `asked` up to the first invalid path."""
    found = [NAME]
    for column in (asked or (AGE,))[:MAX_COLUMNS]:
        try:
            Path(column.path)
        except PathError:
            break
        found.append(column)
    return tuple(found)


def cells_of(columns: Sequence[Column]) -> Cells:
    """Return the function that makes the cells of `shown_columns`."""
    parts = [_cell(column) for column in columns[1:]]

    def cells(obj: Object, view: TableView) -> list[Any]:
        budget = StepBudget()
        row: list[Any] = [obj["metadata"].get("name", "")]
        row += [part(obj, view, budget) for part in parts]
        return row

    return cells


def _cell(column: Column) -> Cell:
    first = Path(column.path).first
    show: Show = _SHOWN.get(column.type, _nothing)

    def cell(obj: Object, view: TableView, budget: StepBudget) -> Any:
        value = first(obj, budget)
        return None if value is MISSING else show(value, view, budget)

    return cell


def _nothing(value: Any, view: TableView, budget: StepBudget) -> None:
    """Show nothing, for a column of an unknown type."""


def _text(value: Any, view: TableView, budget: StepBudget) -> str | None:
    """Return any value as text: objects and lists as JSON."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None:
        return _NOT_THERE
    if kind is bool:
        return boolean(value)
    if kind is float:
        return float_text(value)
    if kind is int:
        return str(value)
    return _json(value, budget)


def _json(value: Any, budget: StepBudget) -> str | None:
    """Return compact JSON with sorted keys; None if the row's budget is spent."""
    if budget.left <= 0:
        return None
    try:
        text = orjson.dumps(_plain(value), option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, RecursionError):
        return None
    budget.left -= len(text) // _CHARACTERS_A_STEP
    for plain, escaped in _JSON_ESCAPES:
        text = text.replace(plain, escaped)
    return text.decode()


def _plain(value: Any) -> Any:
    """Return the value with integral floats as integers, at any depth."""
    if type(value) is dict:
        return {key: _plain(part) for key, part in value.items()}
    if type(value) is list:
        return [_plain(part) for part in value]
    return int(value) if type(value) is float and value.is_integer() and abs(value) < _LARGEST_INTEGRAL else value


def float_text(value: float) -> str:
    """Return the shortest text of a number; from 1e6 and below 1e-4 with an exponent: `1e+06`."""
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)  # JSON has no infinity
    figures = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + exponent - 1 if value else 0
    minus = "-" if sign else ""
    if _LOWEST_POWER <= power < _EXPONENT_POWER:
        return minus + _positional(figures, power)
    rest = f".{figures[1:]}" if len(figures) > 1 else ""
    return f"{minus}{figures[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _positional(figures: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + figures
    whole = figures[: power + 1].ljust(power + 1, "0")
    return f"{whole}.{figures[power + 1 :]}" if len(figures) > power + 1 else whole


def _integer(value: Any, view: TableView, budget: StepBudget) -> int | None:
    if type(value) is float:
        return int(value) if abs(value) < _LARGEST_INTEGRAL else None
    return value if type(value) is int else None


def _number(value: Any, view: TableView, budget: StepBudget) -> Any:
    return _plain(value) if type(value) in (int, float) else None


def _boolean(value: Any, view: TableView, budget: StepBudget) -> bool | None:
    return value if type(value) is bool else None


def _date(value: Any, view: TableView, budget: StepBudget) -> str | Age | None:
    """Return the age of a date."""
    if type(value) is not str:
        return None
    if value in ("", "null"):
        return UNKNOWN
    try:
        seconds, microseconds = parse_time(value)
    except (ValueError, OverflowError):
        return _INVALID
    if seconds == ZERO_TIME_S and not microseconds:
        return UNKNOWN
    age = Age(seconds + microseconds / 1e6)
    return age if view.lazy else age.text(view.time_s)


_SHOWN: Final[dict[str, Show]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
