"""Validity of values, by functions generated for their schema (reference CRD-17).

They only report whether all is well, and raise Unsure where they cannot: errors are found the direct way
(`validation.py`, `marked.py`), which may also find no error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

from orchtw.schema.custom.extensions import EITHER, Extensions, Schema, condition_schemas
from orchtw.schema.custom.keywords import CONDITIONS, ENUM, GIVEN, KEYWORDS, RULES, TYPES, Rule, type_test, types_of
from orchtw.schema.custom.known_members import KnownMembers
from orchtw.schema.custom.marked import LIST_TYPES, Marked
from orchtw.schema.custom.parts import FunctionSource, SchemaParts, Unsure
from orchtw.schema.custom.validation import Validation

_WIDEST: Final = 256  # members of an object and alternatives that are compiled: some 10 ms


def checks(source: bytes, keys: Extensions, marked: Marked, known: KnownMembers) -> SchemaParts:
    """Functions of a value: whether nothing is wrong with it."""
    given = {
        **GIVEN,
        "Unsure": Unsure,
        "distinct_keys": _distinct_keys,
        "known": known.fits,
        "names_itself": lambda value: next(marked.resource(value, ""), None) is None,
    }
    return SchemaParts(source, _Checks(keys).write, given)


def _distinct_keys(values: list[Any], keys: tuple[str, ...]) -> bool:
    try:
        if len(keys) == 1:
            (key,) = keys
            distinct = len({each.get(key) for each in values}) == len(values)
        else:
            distinct = len({tuple([each.get(key) for key in keys]) for each in values}) == len(values)
    except (AttributeError, TypeError):
        raise Unsure from None
    if not distinct:  # what looks alike may differ
        raise Unsure
    return True


class _Checks:
    """Generator of the functions, from the table of `keywords.py`."""

    def __init__(self, keys: Extensions) -> None:
        self._keys = keys
        self._validation = Validation(keys, sys.maxsize)

    def write(self, schema: Schema, w: FunctionSource) -> None:
        """Write the function of any part."""
        kinds = types_of(schema, self._keys)
        with w.block(f"def {w.name}(v):"):
            with w.block("if v is None:"):
                w(f"return {self._takes_null(schema)}")
            if kinds:
                _refuse(w, f"not ({' or '.join(type_test(kind).written('v') for kind in kinds)})")
            for kind, rules in RULES.items():
                if not kinds or kind in kinds or (kind == "number" and "integer" in kinds):
                    with w.block(f"if {TYPES[kind].written('v')}:"):
                        tests = [*_tests(rules, schema, "v", w), *self._extended(schema, w, kind)]
                        self._rules(kind, tests, schema, w)
            _refuse(w, *_tests((ENUM,), schema, "v", w))
            self._conditions(schema, w)
            w("return True")

    def _takes_null(self, schema: Schema) -> bool:
        return not self._validation.causes(None, schema)

    def _extended(self, schema: Schema, w: FunctionSource, kind: str) -> Iterator[str]:
        """Yield the tests of extensions, and of keys that are not allowed."""
        if kind == "array" and (list_type := LIST_TYPES.get(schema.get(self._keys.list_type, ""))) is not None:
            yield list_type.test.written("v", w.constant(tuple(schema.get(self._keys.list_keys) or ())))
        if kind == "object" and schema.get(self._keys.embedded):
            yield "not names_itself(v)"
        if kind == "object" and schema.get("additionalProperties") is False:
            yield f"not {w.constant(frozenset(schema.get('properties') or ()))}.issuperset(v)"

    def _rules(self, kind: str, tests: list[str], schema: Schema, w: FunctionSource) -> None:
        """Write the tests of a value of one type, and of the values in it."""
        members, items = schema.get("properties") or {}, schema.get("items")
        if kind == "object" and max(len(members), len(tests)) > _WIDEST:
            w("raise Unsure")
            return
        _refuse(w, *tests)
        if kind == "array" and items:
            with w.block("for x in v:"):
                self._inner(items, w, "items")
        elif kind == "object":
            self._members(members, schema.get("additionalProperties"), w)

    def _members(self, members: Schema, more: object, w: FunctionSource) -> None:
        for name, member in members.items():
            if self._says_something(member):
                with w.block(f"if {name!r} in v:"):
                    w(f"x = v[{name!r}]")
                    self._inner(member, w, "properties", name)
        if isinstance(more, dict) and self._says_something(more):
            others = f"[v[k] for k in v if k not in {w.constant(frozenset(members))}]" if members else "v.values()"
            with w.block(f"for x in {others}:"):
                self._inner(more, w, "additionalProperties")

    def _says_something(self, schema: Schema) -> bool:
        return any(key in KEYWORDS or key in (self._keys.int_or_string, self._keys.embedded) for key in schema)

    def _inner(self, schema: Schema, w: FunctionSource, *steps: str) -> None:
        """Lines that hold `x`, a member or an element, against its schema."""
        kinds = types_of(schema, self._keys)
        if len(kinds) != 1 or kinds[0] in ("object", "array") or not CONDITIONS.keys().isdisjoint(schema):
            name = w.part(schema, *steps)
            _refuse(w, f"not {name}(x)" if w.place else f"not known({name!r}, {name}, x)")
            return
        rules = RULES.get("number" if kinds[0] == "integer" else kinds[0], ())
        doubt = " or ".join([f"not {type_test(kinds[0]).written('x')}", *_tests((*rules, ENUM), schema, "x", w)])
        _refuse(w, f"x is not None and ({doubt})" if self._takes_null(schema) else doubt)

    def _conditions(self, schema: Schema, w: FunctionSource) -> None:
        for key, condition in CONDITIONS.items():
            schemas = condition_schemas(schema, key)
            if not schemas or (key == "anyOf" and schemas == EITHER and schema.get(self._keys.int_or_string)):
                continue
            if len(schemas) > _WIDEST:
                w("raise Unsure")
                return
            steps = [(key,)] if key == "not" else [(key, index) for index in range(len(schemas))]
            parts = [w.part(each, *step) for each, step in zip(schemas, steps, strict=True)]
            _refuse(w, condition.broken(f"{part}(v)" for part in parts))


def _refuse(w: FunctionSource, *tests: str) -> None:
    """Write that a value does not fit if one of the tests is true of it."""
    if tests:
        with w.block(f"if {' or '.join(tests)}:"):
            w("return False")


def _tests(rules: Iterable[Rule], schema: Schema, name: str, w: FunctionSource) -> list[str]:
    """Return the expressions that are true when `name` breaks one of the rules."""
    typed = [rule.typed(schema) for rule in rules]
    return [rule.broken.written(name, _spelt(limit, w)) for rule in typed for limit in rule.limits(schema)]


def _spelt(limit: Any, w: FunctionSource) -> str:
    return repr(limit) if type(limit) in (int, float, bool, str) else w.constant(limit)
