"""Validation of JSON values by their schema, with all errors (reference CRD-17).

This is the direct way, in the API's own order. The functions of `check_code.py` find out faster whether there is an
error. Both take the keywords from `rules.py`. Schemas nest as deep as codecs let them in, and a value is walked as
deep as its schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, MAX_NAME_CHARACTERS, Cause
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.custom import formats, wording
from orchtw.schema.custom.keywords import JUNCTORS, Extensions, Schema
from orchtw.schema.custom.rules import (
    ENUM,
    FORMAT,
    ITEMS,
    LARGEST,
    NUMBERS,
    PROPERTIES,
    SMALLEST,
    TEXTS,
    TYPES,
    Rule,
    field,
    types_of,
)
from orchtw.values.causes import go_quote

MAX_STEPS: Final = 1_000_000
"""Most steps of one value: far more than any request needs, unless its schema was made for that."""

INLINE_STEPS: Final = 300_000
"""Most steps of functions taken on the reactor: some 30 ms."""

_PATTERN_STEPS: Final = 500
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
        """Add the other's findings, as far as they will be shown."""
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
        """Return the faults of the value at `path`; of very many the first. Raises TooCostly."""
        return list(dict.fromkeys(self._value(value, schema, path).causes))

    def _count(self, steps: int = 1) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TooCostly

    def _count_pattern(self, pattern: str | None) -> None:
        """Count the steps of compiling a pattern, once."""
        if pattern and pattern not in self._patterns:
            self._patterns.add(pattern)
            self._count(_PATTERN_STEPS)

    def _value(self, value: Any, schema: Schema, path: str) -> _Outcome:
        self._count()
        out = _Outcome()
        self._type(value, schema, path, out)
        if value is None:
            _break((ENUM,), value, schema, path, out)
            return out
        self._conditions(value, schema, path, out)
        out.fitting += 4  # each rule that can hold of the value counts, whether it does or not
        if type(value) is str:
            self._count_pattern(schema.get("pattern"))
            _break(TEXTS, value, schema, path, out, first=True)
            if "format" in schema:
                _break((FORMAT,), value, schema, path, out)
                out.fitting += FORMAT.test(schema) is not None
            out.fitting += 1
        elif type(value) in (int, float):
            _break(NUMBERS, value, schema, path, out)
            out.fitting += 2
        elif type(value) is list:
            self._list(value, schema, path, out)
            out.fitting += 2
        if allowed := schema.get("enum"):
            self._count(len(allowed))
            _break((ENUM,), value, schema, path, out)
        if type(value) is dict:
            self._object(value, schema, path, out)
            out.fitting += 1
        return out

    def _type(self, value: Any, schema: Schema, path: str, out: _Outcome) -> None:
        wanted = types_of(schema, self._keys)
        if not wanted:
            return
        if (value is None and schema.get("nullable")) or any([TYPES[kind].holds(value, None) for kind in wanted]):
            out.fitting += 1 if value is None else 2
            return
        out.fitting += value is not None
        named, found = ",".join(wanted), type_name(value)
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
        _break(ITEMS, value, schema, path, out)

    def _object(self, value: dict[str, Any], schema: Schema, path: str, out: _Outcome) -> None:
        if _break(PROPERTIES, value, schema, path, out):
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
    """Return the number of schemas in the conditions of one value: of all values, the one that has most."""
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
    """Return the number of schemas in a condition, itself included."""
    count, waiting = 0, [schema]
    while waiting:
        here = waiting.pop()
        count += 1
        waiting += _conditions_of(here)
        waiting += (here.get("properties") or {}).values()
        waiting += (part for key in ("items", "additionalProperties") if isinstance(part := here.get(key), dict))
    return count


def type_name(value: Any) -> str:
    """Return the type of a value in the words of schemas."""
    if type(value) is int:
        return "integer" if SMALLEST <= value <= LARGEST else "number"
    names = {str: "string", bool: "boolean", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _break(
    rules: Iterable[Rule], value: Any, schema: Schema, path: str, out: _Outcome, *, first: bool = False
) -> bool:
    """Add the causes of the rules that a value breaks, or only the `first`; return whether there are any."""
    found = False
    for rule in rules:
        if rule.keyword in schema and (test := rule.test(schema)) is not None:
            expression, limit = test
            if expression.holds(value, limit):
                out.causes.append(rule.cause(path, value, schema))
                found = True
                if first:
                    break
    return found


def _whole(out: _Outcome, path: str, what: str) -> None:
    out.causes.append(wording.invalid(wording.NOWHERE, "", f"{go_quote(path)} must {what}"))
