"""Validity of values, by functions generated for their schema (reference CRD-17).

They only report whether all is well, and raise Unsure where they cannot: errors are found the direct way
(`validation.py`, `marked.py`), which may also find no error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.schema.custom.keywords import EITHER, JUNCTORS, Extensions, Schema
from orchtw.schema.custom.known_members import KnownMembers
from orchtw.schema.custom.marked import Marked
from orchtw.schema.custom.parts import FunctionSource, SchemaParts, Unsure
from orchtw.schema.custom.rules import (
    CONDITIONS,
    ENUM,
    FORMAT,
    GIVEN,
    ITEMS,
    KEYWORDS,
    NUMBERS,
    PROPERTIES,
    TEXTS,
    TYPES,
    Rule,
    types_of,
)

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
    """Generator of the functions."""

    def __init__(self, keys: Extensions) -> None:
        self._keys = keys

    def write(self, schema: Schema, w: FunctionSource) -> None:
        """Write the function of any part."""
        with w.block(f"def {w.name}(v):"):
            with w.block("if v is None:"):
                w(f"return {self._null_fits(schema)}")
            kinds = types_of(schema, self._keys)
            if kinds:
                with w.block(f"if not ({' or '.join(TYPES[kind].written('v') for kind in kinds)}):"):
                    w("return False")
            self._scalar(schema, kinds, w)
            self._list(schema, kinds, w)
            self._object(schema, kinds, w)
            self._conditions(schema, w)
            w("return True")

    def _null_fits(self, schema: Schema) -> bool:
        return (bool(schema.get("nullable")) or not types_of(schema, self._keys)) and not schema.get("enum")

    def _scalar(self, schema: Schema, kinds: tuple[str, ...], w: FunctionSource) -> None:
        for rules, fits, types in (
            ((*TEXTS, FORMAT), TYPES["string"], {"string"}),
            (NUMBERS, TYPES["number"], {"integer", "number"}),
        ):
            tests = _tests(rules, schema, "v", w)
            if tests and (not kinds or types.intersection(kinds)):
                guard = "" if types.issuperset(kinds) and kinds else f"{fits.written('v')} and "
                with w.block(f"if {guard}({' or '.join(tests)}):"):
                    w("return False")
        for test in _tests((ENUM,), schema, "v", w):
            with w.block(f"if {test}:"):
                w("return False")

    def _list(self, schema: Schema, kinds: tuple[str, ...], w: FunctionSource) -> None:
        tests = _tests(ITEMS, schema, "v", w)
        if schema.get(self._keys.list_type) == "set":
            tests.append("not distinct(v)")
        if schema.get(self._keys.list_type) == "map":
            tests.append(f"not distinct_keys(v, {w.constant(tuple(schema.get(self._keys.list_keys) or ()))})")
        items = schema.get("items")
        if kinds not in ((), ("array",)) or not (tests or items):
            return
        with w.block("if type(v) is list:"):
            if tests:
                with w.block(f"if {' or '.join(tests)}:"):
                    w("return False")
            w("pass")
            if items:
                with w.block("for x in v:"):
                    self._inner(items, w, "items")

    def _object(self, schema: Schema, kinds: tuple[str, ...], w: FunctionSource) -> None:
        members, more = schema.get("properties") or {}, schema.get("additionalProperties")
        tests = _tests(PROPERTIES, schema, "v", w)
        tests += [f"{name!r} not in v" for name in schema.get("required") or ()]
        if schema.get(self._keys.embedded):
            tests.append("not names_itself(v)")
        if more is False:
            tests.append(f"not {w.constant(frozenset(members))}.issuperset(v)")
        if kinds not in ((), ("object",)) or not (tests or members or isinstance(more, dict)):
            return
        with w.block("if type(v) is dict:"):
            w("pass")
            if len(members) > _WIDEST or len(tests) > _WIDEST:
                w("raise Unsure")
                return
            if tests:
                with w.block(f"if {' or '.join(tests)}:"):
                    w("return False")
            for name, member in members.items():
                if self._says_something(member):
                    with w.block(f"if {name!r} in v:"):
                        w(f"x = v[{name!r}]")
                        self._inner(member, w, "properties", name)
            if isinstance(more, dict) and self._says_something(more):
                with w.block("for k in v:"):
                    if members:
                        with w.block(f"if k in {w.constant(frozenset(members))}:"):
                            w("continue")
                    w("x = v[k]")
                    self._inner(more, w, "additionalProperties")

    def _says_something(self, schema: Schema) -> bool:
        return any(key in KEYWORDS or key in (self._keys.int_or_string, self._keys.embedded) for key in schema)

    def _inner(self, schema: Schema, w: FunctionSource, *steps: str) -> None:
        """Lines that hold `x`, a member or an element, against its schema."""
        doubt = self._doubt(schema, "x", w)
        if doubt is None:
            name = w.part(schema, *steps)
            doubt = f"not {name}(x)" if w.place else f"not known({name!r}, {name}, x)"
        elif schema.get("nullable") and not schema.get("enum"):
            doubt = f"x is not None and ({doubt})"
        with w.block(f"if {doubt}:"):
            w("return False")

    def _doubt(self, schema: Schema, name: str, w: FunctionSource) -> str | None:
        """Return the test of a plain scalar; None: it takes a function."""
        kinds = types_of(schema, self._keys)
        if len(kinds) != 1 or kinds[0] in ("object", "array") or not CONDITIONS.isdisjoint(schema):
            return None
        rules = {"string": (*TEXTS, FORMAT), "boolean": ()}.get(kinds[0], NUMBERS)
        return " or ".join([f"not {TYPES[kinds[0]].written(name)}", *_tests((*rules, ENUM), schema, name, w)])

    def _conditions(self, schema: Schema, w: FunctionSource) -> None:
        for key in JUNCTORS:
            schemas = schema.get(key) or ()
            if not schemas or (key == "anyOf" and schemas == EITHER and schema.get(self._keys.int_or_string)):
                continue
            if len(schemas) > _WIDEST:
                w("raise Unsure")
                return
            calls = [f"{w.part(each, key, index)}(v)" for index, each in enumerate(schemas)]
            test = {"allOf": " and ", "anyOf": " or ", "oneOf": ", "}[key].join(calls)
            with w.block(f"if [{test}].count(True) != 1:" if key == "oneOf" else f"if not ({test}):"):
                w("return False")
        if schema.get("not") is not None:
            with w.block(f"if {w.part(schema['not'], 'not')}(v):"):
                w("return False")


def _tests(rules: Iterable[Rule], schema: Schema, name: str, w: FunctionSource) -> list[str]:
    """Return the expressions that are true when `name` breaks one of the rules."""
    found = (rule.typed_test(schema) for rule in rules)
    return [test[0].written(name, _spelt(test[1], w)) for test in found if test is not None]


def _spelt(limit: Any, w: FunctionSource) -> str:
    return repr(limit) if type(limit) in (int, float, bool) else w.constant(limit)
