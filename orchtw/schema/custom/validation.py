"""Validation of JSON values by their schema, with all errors (reference CRD-17).

This is the direct way, in the API's own order and words. Whether anything is wrong at all is told quicker by the
functions of `check_code.py`. Schemas nest as deep as codecs let them in, and a value is walked as deep as its schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, MAX_NAME_CHARACTERS, Cause
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.custom import formats, patterns, wording
from orchtw.schema.custom.keywords import JUNCTORS, Extensions, Schema
from orchtw.values.causes import go_quote

MAX_STEPS: Final = 1_000_000
"""Of one value: far more than any that a request may hold takes, unless its schema was made for that."""

INLINE_STEPS: Final = 300_000
"""Of functions, that may be taken where others wait: some 30 ms."""

_PATTERN_STEPS: Final = 500
_INT64: Final = range(-(2**63), 2**63)
_EXACT: Final = 2**53
_TOLERANCE: Final = 1e-9  # of a quotient of two fractions
_FORMATS_OF_NUMBERS: Final = {"integer": "int64", "number": "float64"}


class TooCostly(Exception):
    """A value cannot be held against its schema in as many steps."""


class _Outcome:
    """Findings, and how much of a schema a value fits: of several alternatives the best is reported."""

    __slots__ = ("causes", "fitting")

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.fitting = 0

    def add(self, other: _Outcome) -> None:
        """Also what was found there, as far as anybody will read it."""
        if len(self.causes) <= MAX_CAUSES:
            self.causes += other.causes
        self.fitting += other.fitting


class Validation:
    """Holds values against schemas, in a number of steps altogether."""

    def __init__(self, keys: Extensions, max_steps: int = MAX_STEPS) -> None:
        self._keys = keys
        self._steps_left = max_steps
        self._patterns: set[str] = set()

    def causes(self, value: Any, schema: Schema, path: str = "") -> list[Cause]:
        """Why the value at `path` does not fit; of very many the first. Raises TooCostly."""
        return list(dict.fromkeys(self._value(value, schema, path).causes))

    def _count(self, steps: int = 1) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TooCostly

    def _count_pattern(self, pattern: str | None) -> None:
        """A pattern may have to be compiled."""
        if pattern and pattern not in self._patterns:
            self._patterns.add(pattern)
            self._count(_PATTERN_STEPS)

    def _value(self, value: Any, schema: Schema, path: str) -> _Outcome:
        self._count()
        out = _Outcome()
        self._type(value, schema, path, out)
        if value is None:
            _enumerated(value, schema, path, out)
            return out
        self._conditions(value, schema, path, out)
        out.fitting += 4  # each rule that can hold of the value counts, whether it does or not
        if type(value) is str:
            self._count_pattern(schema.get("pattern"))
            out.fitting += 1 + _text(value, schema, path, out)
        elif type(value) in (int, float):
            _number(value, schema, path, out)
            out.fitting += 2
        elif type(value) is list:
            self._list(value, schema, path, out)
            out.fitting += 2
        self._count(len(schema.get("enum") or ()))
        _enumerated(value, schema, path, out)
        if type(value) is dict:
            self._object(value, schema, path, out)
            out.fitting += 1
        return out

    def _type(self, value: Any, schema: Schema, path: str, out: _Outcome) -> None:
        wanted = ("integer", "string") if schema.get(self._keys.int_or_string) else (schema.get("type") or "",)
        if wanted == ("",):
            return
        found = type_name(value)
        fits = found in wanted or (found == "integer" and "number" in wanted)
        fits = fits or (type(value) is float and "integer" in wanted and is_integral(value))
        if value is None and schema.get("nullable"):
            fits = True
        if fits:
            out.fitting += 1 if value is None else 2
            return
        out.fitting += value is not None
        named = ",".join(wanted)
        if found not in ("string", "array", "null") and formats.find(schema.get("format")) is not None:
            named, found = schema["format"], _FORMATS_OF_NUMBERS.get(found, "")
        why = f"{path} in body must be of type {named}: {go_quote(found)}"
        out.causes.append(wording.wrong_type(field(path), found, why))

    def _list(self, value: list[Any], schema: Schema, path: str, out: _Outcome) -> None:
        items = schema.get("items")
        if isinstance(items, dict):
            for index, element in enumerate(value):
                out.add(self._value(element, items, f"{path}[{index}]"))
                if len(out.causes) > MAX_CAUSES:
                    return
        _counts(len(value), schema, path, "Items", "items", out)
        if schema.get("uniqueItems") and len({identity(each) for each in value}) < len(value):
            out.causes.append(wording.invalid(field(path), "", f"{path} in body shouldn't contain duplicates"))

    def _object(self, value: dict[str, Any], schema: Schema, path: str, out: _Outcome) -> None:
        if _counts(len(value), schema, path, "Properties", "properties", out):
            return
        members, more = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, each in value.items():
            place = f"{path}.{shortened(name, MAX_NAME_CHARACTERS)}" if path else name
            if (member := members.get(name)) is not None:
                out.add(self._value(each, member, place))
            elif isinstance(more, dict):
                out.add(self._value(each, more, place))
            elif more is False:
                out.causes.append(wording.invalid(field(path), name, f"{place} in body is a forbidden property"))
            if len(out.causes) > MAX_CAUSES:
                return
        always = schema.get("required") or ()
        self._count(len(always))
        out.causes += (wording.required(field(f"{path}.{name}")) for name in always if name not in value)

    def _conditions(self, value: Any, schema: Schema, path: str, out: _Outcome) -> None:
        if some := schema.get("anyOf"):
            self._any(value, some, path, out)
        if one := schema.get("oneOf"):
            self._one(value, one, path, out)
        if every := schema.get("allOf"):
            outcomes = [self._value(value, each, path) for each in every]
            for each in outcomes:
                out.add(each)
            valid = sum(not each.causes for each in outcomes)
            if valid < len(every):
                _whole(out, path, "validate all the schemas (allOf)" + ("" if valid else ". None validated"))
        if (denied := schema.get("not")) is not None and not self._value(value, denied, path).causes:
            _whole(out, path, "not validate the schema (not)")

    def _any(self, value: Any, schemas: Iterable[Schema], path: str, out: _Outcome) -> None:
        best: _Outcome | None = None
        for each in schemas:
            found = self._value(value, each, path)
            if not found.causes:
                out.add(found)
                return
            if best is None or found.fitting > best.fitting:
                best = found
        _whole(out, path, "validate at least one schema (anyOf)")
        if best is not None:
            out.add(best)

    def _one(self, value: Any, schemas: Iterable[Schema], path: str, out: _Outcome) -> None:
        outcomes = [self._value(value, each, path) for each in schemas]
        valid = [each for each in outcomes if not each.causes]
        if len(valid) == 1:
            out.add(valid[0])
        elif valid:
            _whole(out, path, f"validate one and only one schema (oneOf). Found {len(valid)} valid alternatives")
        else:
            _whole(out, path, "validate one and only one schema (oneOf). Found none valid")
            out.add(max(outcomes, key=lambda each: each.fitting))


def most_conditions(schema: Schema) -> int:
    """The number of schemas in the conditions of one value: of all values, the one that has most."""
    most, waiting = 0, [schema]
    while waiting:
        here = waiting.pop()
        most = max(most, sum(map(_size, _conditions_of(here))))
        waiting += (here.get("properties") or {}).values()
        waiting += (part for key in ("items", "additionalProperties") if isinstance(part := here.get(key), dict))
    return most


def _conditions_of(schema: Schema) -> list[Schema]:
    found = [each for key in JUNCTORS for each in schema.get(key) or ()]
    return found if schema.get("not") is None else [*found, schema["not"]]


def _size(schema: Schema) -> int:
    """The number of schemas in a condition, itself included."""
    count, waiting = 0, [schema]
    while waiting:
        here = waiting.pop()
        count += 1
        waiting += _conditions_of(here)
        waiting += (here.get("properties") or {}).values()
        waiting += (part for key in ("items", "additionalProperties") if isinstance(part := here.get(key), dict))
    return count


def field(path: str) -> str:
    """The path as a cause names it."""
    return path.removeprefix(".") or wording.NOWHERE


def type_name(value: Any) -> str:
    """The type of a value in the words of schemas."""
    if type(value) is int:
        return "integer" if value in _INT64 else "number"
    names = {str: "string", bool: "boolean", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def is_integral(value: float) -> bool:
    """Report whether a number with a point may stand for an integer."""
    return -_EXACT < value < _EXACT and value.is_integer()


def is_multiple(value: float, step: float) -> bool:
    """Report whether a number is a multiple of another, by exact fractions."""
    if type(value) is int and float(step).is_integer():
        return value % int(step) == 0
    try:
        quotient = value / step if step >= 1 else 1 / step * value
        nearest = round(quotient)
    except OverflowError:  # no number that a step could be told from
        return True
    return abs(quotient - nearest) <= _TOLERANCE * abs(quotient + nearest)


def identity(value: Any) -> Any:
    """Return a key that equal values share."""
    if type(value) is dict:
        return frozenset([(key, identity(item)) for key, item in value.items()])
    if type(value) is list:
        return tuple(map(identity, value))
    return type(value) is bool, value


def is_among(value: Any, allowed: Iterable[Any]) -> bool:
    """Report whether a value is one of those; a null never is."""
    wanted = identity(value)
    return value is not None and any(wanted == identity(each) for each in allowed)


def _enumerated(value: Any, schema: Schema, path: str, out: _Outcome) -> None:
    allowed = schema.get("enum")
    if allowed and not is_among(value, allowed):
        out.causes.append(wording.not_supported(field(path), value, allowed))


def _text(value: str, schema: Schema, path: str, out: _Outcome) -> int:
    """Adds what is wrong with a text; whether there is a format that can be checked."""
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        out.causes.append(wording.too_long(field(path), most))
    elif least is not None and len(value) < least:
        why = f"{path} in body should be at least {least} chars long"
        out.causes.append(wording.invalid(field(path), value, why))
    elif pattern and not patterns.matches(pattern, value):
        broken = patterns.fault(pattern)
        shown = f"{pattern}, but pattern is invalid: {broken}" if broken else pattern
        out.causes.append(wording.invalid(field(path), value, f"{path} in body should match '{shown}'"))
    check = formats.find(schema.get("format"))
    if check is not None and not check(value):
        why = f"{path} in body must be of type {schema['format']}: {go_quote(value)}"
        out.causes.append(wording.wrong_type(field(path), value, why))
    return check is not None


def _number(value: float, schema: Schema, path: str, out: _Outcome) -> None:
    most, least, step = schema.get("maximum"), schema.get("minimum"), schema.get("multipleOf")
    if step and not is_multiple(value, step):
        why = f"should be a multiple of {wording.number(step)}"
        out.causes.append(wording.invalid(field(path), value, f"{path} in body {why}"))
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        why = f"should be {than} {wording.number(least)}"
        out.causes.append(wording.invalid(field(path), value, f"{path} in body {why}"))
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        why = f"should be {than} {wording.number(most)}"
        out.causes.append(wording.invalid(field(path), value, f"{path} in body {why}"))


def _counts(size: int, schema: Schema, path: str, what: str, unit: str, out: _Outcome) -> bool:
    """Adds what is wrong with a number of parts, and whether it is."""
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    few, many = least is not None and size < least, most is not None and size > most
    if few:
        why = f"{path} in body should have at least {least} {unit}"
        out.causes.append(wording.invalid(field(path), size, why))
    if many:
        out.causes.append(wording.too_many(field(path), size, most or 0))
    return few or many


def _whole(out: _Outcome, path: str, what: str) -> None:
    out.causes.append(wording.invalid(wording.NOWHERE, "", f"{go_quote(path)} must {what}"))
