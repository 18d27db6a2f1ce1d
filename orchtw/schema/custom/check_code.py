"""Validity of values, by functions generated for their schema (reference CRD-17).

They only report whether all is well, and raise Unsure where they cannot: errors are found the direct way
(`validation.py`, `marked.py`), which may also find no error.
"""

from __future__ import annotations

from typing import Any, Final

from orchtw.schema.custom import formats, patterns
from orchtw.schema.custom.keywords import EITHER, Extensions, Schema
from orchtw.schema.custom.marked import Marked
from orchtw.schema.custom.parts import SchemaParts, SchemaSource, Unsure
from orchtw.schema.custom.validation import identity, is_among, is_integral, is_multiple

_LARGEST: Final = 2**63 - 1
_SMALLEST: Final = -(2**63)
_TESTS: Final = {"string": "type({}) is str", "boolean": "type({}) is bool", "object": "type({}) is dict",
                 "array": "type({}) is list", "integer": "is_integer({})",
                 "number": "(type({0}) is int or type({0}) is float)"}  # fmt: skip
_ON_TEXTS: Final = ("minLength", "maxLength", "pattern", "format")
_ON_NUMBERS: Final = ("minimum", "maximum", "multipleOf")
_WIDEST: Final = 256  # members of an object and alternatives that are compiled: some 10 ms


def checks(source: bytes, keys: Extensions, marked: Marked) -> SchemaParts:
    """Functions of a value: whether nothing is wrong with it."""
    given = {
        "Unsure": Unsure,
        "distinct": _distinct,
        "distinct_keys": _distinct_keys,
        "is_among": is_among,
        "is_integer": _is_integer,
        "is_multiple": is_multiple,
        "matches": patterns.matches,
        "names_itself": lambda value: next(marked.resource(value, ""), None) is None,
    }
    return SchemaParts(source, _Checks(keys).write, given)


def _is_integer(value: Any) -> bool:
    if type(value) is int:
        return _SMALLEST <= value <= _LARGEST
    return type(value) is float and is_integral(value)


def _distinct(values: list[Any]) -> bool:
    try:
        if len(set(values)) == len(values):
            return True
    except TypeError:  # of lists and objects
        pass
    return len({identity(each) for each in values}) == len(values)


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

    def write(self, schema: Schema, w: SchemaSource) -> None:
        """The function of any part."""
        with w.block(f"def {w.name}(v):"):
            with w.block("if v is None:"):
                w(f"return {self._null_fits(schema)}")
            kinds = self._kinds(schema)
            if kinds:
                with w.block(f"if not ({' or '.join(_TESTS[kind].format('v') for kind in kinds)}):"):
                    w("return False")
            self._scalar(schema, kinds, w)
            self._list(schema, kinds, w)
            self._object(schema, kinds, w)
            self._conditions(schema, w)
            w("return True")

    def _null_fits(self, schema: Schema) -> bool:
        return (bool(schema.get("nullable")) or not self._kinds(schema)) and not schema.get("enum")

    def _kinds(self, schema: Schema) -> tuple[str, ...]:
        if schema.get(self._keys.int_or_string):
            return "string", "integer"
        kind = schema.get("type")
        return (kind,) if kind else ()

    def _scalar(self, schema: Schema, kinds: tuple[str, ...], w: SchemaSource) -> None:
        for tests, test, own in (
            (self._text_tests(schema, "v", w), "type(v) is str", "string"),
            (self._number_tests(schema, "v", w), "(type(v) is int or type(v) is float)", ""),
        ):
            if tests and (not kinds or own in kinds or (not own and {"integer", "number"} & {*kinds})):
                guard = "" if kinds in (("string",), ("integer",), ("number",)) else f"{test} and "
                with w.block(f"if {guard}({' or '.join(tests)}):"):
                    w("return False")
        if (allowed := schema.get("enum")) is not None and allowed:
            with w.block(f"if {self._not_among(schema, 'v', w)}:"):
                w("return False")

    def _not_among(self, schema: Schema, name: str, w: SchemaSource) -> str:
        allowed = schema["enum"]
        if schema.get("type") == "string" and all(type(each) is str for each in allowed):
            return f"{name} not in {w.constant(frozenset(allowed))}"
        return f"not is_among({name}, {w.constant(allowed)})"

    def _text_tests(self, schema: Schema, name: str, w: SchemaSource) -> list[str]:
        tests = []
        if (least := schema.get("minLength")) is not None:
            tests.append(f"len({name}) < {least}")
        if (most := schema.get("maxLength")) is not None:
            tests.append(f"len({name}) > {most}")
        if check := formats.find(schema.get("format")):
            tests.append(f"not {w.constant(check)}({name})")
        if pattern := schema.get("pattern"):
            tests.append(f"not matches({w.constant(pattern)}, {name})")
        return tests

    def _number_tests(self, schema: Schema, name: str, w: SchemaSource) -> list[str]:
        tests = []
        if (least := schema.get("minimum")) is not None:
            tests.append(f"{name} {'<=' if schema.get('exclusiveMinimum') else '<'} {least!r}")
        if (most := schema.get("maximum")) is not None:
            tests.append(f"{name} {'>=' if schema.get('exclusiveMaximum') else '>'} {most!r}")
        if step := schema.get("multipleOf"):
            tests.append(f"not is_multiple({name}, {step!r})")
        return tests

    def _list(self, schema: Schema, kinds: tuple[str, ...], w: SchemaSource) -> None:
        tests = _size_tests(schema, "Items")
        if schema.get("uniqueItems") or schema.get(self._keys.list_type) == "set":
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

    def _object(self, schema: Schema, kinds: tuple[str, ...], w: SchemaSource) -> None:
        members, more = schema.get("properties") or {}, schema.get("additionalProperties")
        tests = _size_tests(schema, "Properties")
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
        return any(key in _SAYING or key in (self._keys.int_or_string, self._keys.embedded) for key in schema)

    def _inner(self, schema: Schema, w: SchemaSource, *steps: str) -> None:
        """Lines that hold `x`, a member or an element, against its schema."""
        doubt = self._doubt(schema, "x", w)
        if doubt is None:
            doubt = f"not {w.part(schema, *steps)}(x)"
        elif schema.get("nullable") and not schema.get("enum"):
            doubt = f"x is not None and ({doubt})"
        with w.block(f"if {doubt}:"):
            w("return False")

    def _doubt(self, schema: Schema, name: str, w: SchemaSource) -> str | None:
        """The test of a plain scalar; None: it takes a function."""
        kinds = self._kinds(schema)
        if len(kinds) != 1 or kinds[0] in ("object", "array") or any(key in schema for key in _CONDITIONS):
            return None
        if kinds == ("string",):
            tests = [f"type({name}) is not str", *self._text_tests(schema, name, w)]
        elif kinds == ("boolean",):
            tests = [f"type({name}) is not bool"]
        else:
            tests = [f"not {_TESTS[kinds[0]].format(name)}", *self._number_tests(schema, name, w)]
        if schema.get("enum"):
            tests.append(self._not_among(schema, name, w))
        return " or ".join(tests)

    def _conditions(self, schema: Schema, w: SchemaSource) -> None:
        for key in ("allOf", "anyOf", "oneOf"):
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


_CONDITIONS: Final = frozenset({"allOf", "anyOf", "oneOf", "not"})
_SAYING: Final = frozenset(
    {"type", "enum", "items", "properties", "additionalProperties", "required", "minItems", "maxItems", "uniqueItems",
     "minProperties", "maxProperties", *_ON_TEXTS, *_ON_NUMBERS, *_CONDITIONS}
)  # fmt: skip


def _size_tests(schema: Schema, what: str) -> list[str]:
    tests = []
    if (least := schema.get(f"min{what}")) is not None:
        tests.append(f"len(v) < {least}")
    if (most := schema.get(f"max{what}")) is not None:
        tests.append(f"len(v) > {most}")
    return tests
