"""Validation of JSON values by their schema, with all errors (reference CRD-17).

This is the direct way through the table of `keywords.py`, in the API's own order. The functions of `check_code.py`
find out faster whether there is an error. Schemas nest as deep as codecs let them in, and a value is walked as deep
as its schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, MAX_NAME_CHARACTERS, Cause
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.custom import formats, wording
from orchtw.schema.custom.extensions import Extensions, Schema, condition_schemas, inner_schemas
from orchtw.schema.custom.keywords import (
    CONDITIONS,
    ENUM,
    LARGEST,
    REQUIRED,
    RULES,
    SIZES,
    SMALLEST,
    Rule,
    field,
    type_test,
    types_of,
)
from orchtw.schema.custom.terms import OLDEST_FORMS, Forms
from orchtw.values.causes import go_quote
from orchtw.wire.json_values import alike

MAX_STEPS: Final = 1_000_000
"""Most steps of one value: far more than any request needs, unless its schema was made for that."""

INLINE_STEPS: Final = 300_000
"""Most steps of functions taken on the reactor: some 30 ms."""

_PATTERN_STEPS: Final = 500
_CONDITIONS: Final = frozenset(CONDITIONS)
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

    def __init__(self, keys: Extensions, max_steps: int = MAX_STEPS, forms: Forms = OLDEST_FORMS) -> None:
        self._keys = keys
        self._forms = forms
        self._steps_left = max_steps
        self._patterns: set[str] = set()

    def causes(self, value: Any, schema: Schema, path: str = "", old: Any = None) -> list[Cause]:
        """Return the faults of the value at `path`; of very many the first. Raises TooCostly.

        `old`: its earlier form; faults of parts that have not changed since do not count.
        """
        return list(dict.fromkeys(self._value(value, schema, path, old).causes))

    def _count(self, steps: int = 1) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TooCostly

    def _count_pattern(self, pattern: str | None) -> None:
        """Count the steps of compiling a pattern, once."""
        if pattern and pattern not in self._patterns:
            self._patterns.add(pattern)
            self._count(_PATTERN_STEPS)

    def _value(self, value: Any, schema: Schema, path: str, old: Any) -> _Outcome:
        self._count()
        out = _Outcome()
        if old is not None and alike(value, old):
            return out
        self._type(value, schema, path, out)
        if value is None:
            self._break((ENUM,), value, schema, path, out)
            return out
        if not _CONDITIONS.isdisjoint(schema):
            self._conditions(value, schema, path, out, old)
        out.fitting += 4  # each rule that can hold of the value counts, whether it does or not
        if type(value) is str:
            self._count_pattern(schema.get("pattern"))
            self._break(RULES["string"], value, schema, path, out)
            out.fitting += 1 + ("format" in schema and formats.find(schema["format"]) is not None)
        elif type(value) in (int, float):
            self._break(RULES["number"], value, schema, path, out)
            out.fitting += 2
        elif type(value) is list:
            self._list(value, schema, path, out, old)
            out.fitting += 2
        if allowed := schema.get("enum"):
            self._count(len(allowed))
            self._break((ENUM,), value, schema, path, out)
        if type(value) is dict:
            self._object(value, schema, path, out, old)
            out.fitting += 1
        return out

    def _type(self, value: Any, schema: Schema, path: str, out: _Outcome) -> None:
        wanted = types_of(schema, self._keys)
        if not wanted:
            return
        if value is None and schema.get("nullable"):
            out.fitting += 1
            return
        for kind in wanted:
            if type_test(kind).holds(value, None):
                out.fitting += 2
                return
        out.fitting += value is not None
        named, found = ",".join(wanted), type_name(value)
        if found not in ("string", "array", "null") and formats.find(schema.get("format")) is not None:
            named, found = schema["format"], _FORMATS_OF_NUMBERS.get(found, "")
        why = f"{path} in body must be of type {named}: {go_quote(found)}"
        out.causes.append(wording.wrong_type(field(path), found, why))

    def _list(self, value: list[Any], schema: Schema, path: str, out: _Outcome, old: Any) -> None:
        items = schema.get("items")
        if isinstance(items, dict):
            before = self._elements(old, schema)
            keys = schema.get(self._keys.list_keys) or ()
            for index, element in enumerate(value):
                match = before.get(_key_of(element, keys)) if before else None
                out.add(self._value(element, items, f"{path}[{index}]", match))
                if len(out.causes) > MAX_CAUSES:
                    return
        self._break(RULES["array"], value, schema, path, out)

    def _elements(self, old: Any, schema: Schema) -> dict[str, Any]:
        """Return the old elements of a list by their keys; empty for a list without map keys."""
        if type(old) is not list or schema.get(self._keys.list_type) != "map":
            return {}
        keys = schema.get(self._keys.list_keys) or ()
        return {_key_of(each, keys): each for each in old}

    def _object(self, value: dict[str, Any], schema: Schema, path: str, out: _Outcome, old: Any) -> None:
        if self._break(SIZES, value, schema, path, out):
            return
        members, more = schema.get("properties") or {}, schema.get("additionalProperties")
        before = old if type(old) is dict else {}
        for name, each in value.items():
            place = f"{path}.{shortened(name, MAX_NAME_CHARACTERS)}" if path else name
            if (member := members.get(name)) is not None:
                out.add(self._value(each, member, place, before.get(name)))
            elif isinstance(more, dict):
                out.add(self._value(each, more, place, before.get(name)))
            elif more is False:
                out.causes.append(wording.invalid(field(path), name, f"{place} in body is a forbidden property"))
            if len(out.causes) > MAX_CAUSES:
                return
        self._count(len(schema.get("required") or ()))
        self._break((REQUIRED,), value, schema, path, out)

    def _conditions(self, value: Any, schema: Schema, path: str, out: _Outcome, old: Any) -> None:
        for key, condition in CONDITIONS.items():
            schemas, outcomes = condition_schemas(schema, key), list[_Outcome]()
            for each in schemas:
                outcomes.append(self._value(value, each, path, old))
                if key == "anyOf" and not outcomes[-1].causes:
                    break
            if not outcomes:
                continue
            valid = [outcome for outcome in outcomes if not outcome.causes]
            if key == "allOf":
                for outcome in outcomes:
                    out.add(outcome)
            if why := condition.fault(len(valid), len(schemas)):
                what = f"{go_quote(path)} must {why}"
                out.causes.append(wording.invalid(wording.NOWHERE, "", what))
            if key in ("anyOf", "oneOf") and len(valid) <= 1:  # of several alternatives the best one is told
                out.add(max(valid or outcomes, key=lambda outcome: outcome.fitting))

    def _break(self, rules: Iterable[Rule], value: Any, schema: Schema, path: str, out: _Outcome) -> bool:
        """Add the causes of the rules that a value breaks; return whether there are any."""
        found = False
        for rule in rules:
            if rule.keyword in schema and not (found and rule.spares):
                for limit in rule.limits(schema):
                    if rule.broken.holds(value, limit):
                        out.causes.append(rule.cause(path, value, schema, limit, self._forms))
                        found = True
        return found


def most_conditions(schema: Schema) -> int:
    """Return the number of schemas in the conditions of one value: of all values, the one that has most."""
    most, waiting = 0, [schema]
    while waiting:
        here = waiting.pop()
        most = max(most, sum(map(_size, _alternatives(here))))
        waiting += inner_schemas(here)
    return most


def _alternatives(schema: Schema) -> list[Schema]:
    return [each for key in CONDITIONS for each in condition_schemas(schema, key)]


def _size(schema: Schema) -> int:
    """Return the number of schemas in a condition, itself included."""
    count, waiting = 0, [schema]
    while waiting:
        here = waiting.pop()
        count += 1
        waiting += _alternatives(here)
        waiting += inner_schemas(here)
    return count


def type_name(value: Any) -> str:
    """Return the type of a value in the words of schemas."""
    if type(value) is int:
        return "integer" if SMALLEST <= value <= LARGEST else "number"
    names = {str: "string", bool: "boolean", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _key_of(element: Any, keys: Sequence[str]) -> str:
    """Return the key of a list's element as text."""
    return repr([element.get(key) for key in keys] if type(element) is dict else element)
