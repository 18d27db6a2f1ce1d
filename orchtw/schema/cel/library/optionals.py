"""Library functions of optional values; `or`, `orValue`, `optMap` and `optFlatMap` are forms of the compiler."""

from __future__ import annotations

from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.values import ABSENT, Duration, Instance, Optional

_ZEROS: Final = (Duration(0),)


def _of_non_zero(value: Any) -> Optional:
    if type(value) is Instance:
        return Optional(value) if value.fields else ABSENT
    if type(value) is Duration:
        return ABSENT if value in _ZEROS else Optional(value)
    return Optional(value) if value else ABSENT


def _value(found: Optional) -> Any:
    if found.present:
        return found.value
    raise Failure("optional.none() dereference")


def _unwrapped(found: list[Optional]) -> list[Any]:
    return [each.value for each in found if each.present]


def _first(found: list[Any]) -> Optional:
    return Optional(found[0]) if found else ABSENT


def _last(found: list[Any]) -> Optional:
    return Optional(found[-1]) if found else ABSENT


FUNCTIONS: Final = (
    overload("optional.of(A) -> optional_type(A)", Optional, namespaced=True),
    overload("optional.none() -> optional_type(nothing)", lambda: ABSENT, namespaced=True),
    overload("optional.ofNonZeroValue(A) -> optional_type(A)", _of_non_zero, namespaced=True),
    overload("optional.unwrap(list(optional_type(A))) -> list(A)", _unwrapped, len, namespaced=True),
    overload("list(optional_type(A)).unwrapOpt() -> list(A)", _unwrapped, len),
    overload("optional_type(A).hasValue() -> bool", lambda found: found.present),
    overload("optional_type(A).value() -> A", _value),
    overload("list(A).first() -> optional_type(A)", _first),
    overload("list(A).last() -> optional_type(A)", _last),
)
