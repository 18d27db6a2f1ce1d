"""Keywords of schemas that one value keeps or breaks: each with its test and the words for a value that breaks it.

`validation.py` evaluates the tests, and `check_code.py` writes them into functions (reference CRD-17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs

from orchtw.errors import Cause
from orchtw.schema.custom import formats, patterns, wording
from orchtw.schema.custom.keywords import Extensions, Schema
from orchtw.values.causes import go_quote

LARGEST: Final = 2**63 - 1
SMALLEST: Final = -(2**63)
_EXACT: Final = 2**53
_TOLERANCE: Final = 1e-9  # of a quotient of two fractions

def is_integer(value: Any) -> bool:
    """Report whether a value is an integer of 64 bits, perhaps written with a point."""
    if type(value) is int:
        return SMALLEST <= value <= LARGEST
    return type(value) is float and -_EXACT < value < _EXACT and value.is_integer()


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


def is_distinct(values: list[Any]) -> bool:
    """Report whether no value comes twice."""
    try:
        if len(set(values)) == len(values):
            return True
    except TypeError:  # of lists and objects
        pass
    return len({identity(each) for each in values}) == len(values)


GIVEN: Final[Mapping[str, Any]] = {
    "distinct": is_distinct,
    "is_among": is_among,
    "is_integer": is_integer,
    "is_multiple": is_multiple,
    "matches": patterns.matches,
}
"""Names that the tests use."""

_NAMES: Final = dict(GIVEN)


@attrs.frozen(slots=True, eq=False)
class Expression:
    """Python expression of a value `{v}` and a `{limit}`, as text to be written into functions, and as a function."""

    text: str
    holds: Callable[[Any, Any], Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        source = f"lambda v, limit: {self.written('v', 'limit')}"
        object.__setattr__(self, "holds", eval(source, _NAMES))  # of this module's own text only

    def written(self, v: str, limit: str = "") -> str:
        """Return the text with these names."""
        return self.text.format(v=v, limit=limit)


RuleTest = tuple[Expression, Any]
"""An expression that is true of a value that breaks a keyword, and the limit that the schema sets."""


@attrs.frozen(slots=True)
class Rule:
    """Keyword of values of one type.

    `test` returns the test of a schema that has the keyword; None: it asks for nothing. `cause` words a breach, from
    the path in the object, the value and the schema. `quick` is a test for values that are known to be of the
    schema's type.
    """

    keyword: str
    test: Callable[[Schema], RuleTest | None]
    cause: Callable[[str, Any, Schema], Cause]
    quick: Callable[[Schema], RuleTest | None] | None = None

    def typed_test(self, schema: Schema) -> RuleTest | None:
        """Return the quickest test for values of the schema's type."""
        found = None if self.quick is None else self.quick(schema)
        return self.test(schema) if found is None else found


TYPES: Final = {
    "string": Expression("type({v}) is str"),
    "boolean": Expression("type({v}) is bool"),
    "object": Expression("type({v}) is dict"),
    "array": Expression("type({v}) is list"),
    "integer": Expression("is_integer({v})"),
    "number": Expression("(type({v}) is int or type({v}) is float)"),
}
"""Tests of whether a value is of a type."""


def types_of(schema: Schema, keys: Extensions) -> tuple[str, ...]:
    """Return the types that a schema allows; none stands for all."""
    if schema.get(keys.int_or_string):
        return "integer", "string"
    kind = schema.get("type")
    return (kind,) if kind else ()


def field(path: str) -> str:
    """Return the path as a cause names it."""
    return path.removeprefix(".") or wording.NOWHERE


def _given(keyword: str, text: str) -> Callable[[Schema], RuleTest | None]:
    """Return the test of a keyword with a limit that may be 0."""
    expression = Expression(text)

    def test(schema: Schema) -> RuleTest | None:
        limit = schema.get(keyword)
        return None if limit is None else (expression, limit)

    return test


def _set(keyword: str, text: str) -> Callable[[Schema], RuleTest | None]:
    """Return the test of a keyword for which 0, false or nothing in it means that it is not there."""
    expression = Expression(text)

    def test(schema: Schema) -> RuleTest | None:
        limit = schema.get(keyword)
        return (expression, limit) if limit else None

    return test


def _bound(keyword: str, exclusive: str, text: str, strict: str) -> Callable[[Schema], RuleTest | None]:
    loose, tight = _given(keyword, text), _given(keyword, strict)
    return lambda schema: (tight if schema.get(exclusive) else loose)(schema)


_FORMED: Final = Expression("not {limit}({v})")
_LISTED: Final = Expression("{v} not in {limit}")


def _format(schema: Schema) -> RuleTest | None:
    check = formats.find(schema.get("format"))
    return None if check is None else (_FORMED, check)


def _words(schema: Schema) -> RuleTest | None:
    """Return the test of an enumeration of texts, for texts."""
    allowed = schema.get("enum")
    if not allowed or schema.get("type") != "string" or any(type(each) is not str for each in allowed):
        return None
    return _LISTED, frozenset(allowed)


def _in_body(path: str, value: Any, why: str) -> Cause:
    return wording.invalid(field(path), value, f"{path} in body {why}")


def _unmatched(path: str, value: Any, schema: Schema) -> Cause:
    pattern = schema["pattern"]
    wrong = patterns.fault(pattern)
    shown = f"{pattern}, but pattern is invalid: {wrong}" if wrong else pattern
    return _in_body(path, value, f"should match '{shown}'")


def _misformed(path: str, value: Any, schema: Schema) -> Cause:
    why = f"{path} in body must be of type {schema['format']}: {go_quote(value)}"
    return wording.wrong_type(field(path), value, why)


def _beyond(keyword: str, exclusive: str, than: str) -> Callable[[str, Any, Schema], Cause]:
    def cause(path: str, value: Any, schema: Schema) -> Cause:
        limit = wording.number(schema[keyword])
        return _in_body(path, value, f"should be {than}{'' if schema.get(exclusive) else ' or equal to'} {limit}")

    return cause


def _sizes(what: str) -> tuple[Rule, Rule]:
    """Return the rules of the number of parts."""
    least, most = f"min{what}", f"max{what}"
    return (
        Rule(
            least,
            _given(least, "len({v}) < {limit}"),
            lambda path, value, schema: _in_body(
                path, len(value), f"should have at least {schema[least]} {what.lower()}"
            ),
        ),
        Rule(
            most,
            _given(most, "len({v}) > {limit}"),
            lambda path, value, schema: wording.too_many(field(path), len(value), schema[most] or 0),
        ),
    )


TEXTS: Final = (
    Rule(
        "maxLength",
        _given("maxLength", "len({v}) > {limit}"),
        lambda path, _, schema: wording.too_long(field(path), schema["maxLength"]),
    ),
    Rule(
        "minLength",
        _given("minLength", "len({v}) < {limit}"),
        lambda path, value, schema: _in_body(path, value, f"should be at least {schema['minLength']} chars long"),
    ),
    Rule("pattern", _set("pattern", "not matches({limit}, {v})"), _unmatched),
)
"""Rules of texts, of which a text is told the first that it breaks."""

FORMAT: Final = Rule("format", _format, _misformed)

NUMBERS: Final = (
    Rule(
        "multipleOf",
        _set("multipleOf", "not is_multiple({v}, {limit})"),
        lambda path, value, schema: _in_body(
            path, value, f"should be a multiple of {wording.number(schema['multipleOf'])}"
        ),
    ),
    Rule(
        "minimum",
        _bound("minimum", "exclusiveMinimum", "{v} < {limit}", "{v} <= {limit}"),
        _beyond("minimum", "exclusiveMinimum", "greater than"),
    ),
    Rule(
        "maximum",
        _bound("maximum", "exclusiveMaximum", "{v} > {limit}", "{v} >= {limit}"),
        _beyond("maximum", "exclusiveMaximum", "less than"),
    ),
)

ITEMS: Final = (
    *_sizes("Items"),
    Rule(
        "uniqueItems",
        _set("uniqueItems", "not distinct({v})"),
        lambda path, _, schema: _in_body(path, "", "shouldn't contain duplicates"),
    ),
)

PROPERTIES: Final = _sizes("Properties")

ENUM: Final = Rule(
    "enum",
    _set("enum", "not is_among({v}, {limit})"),
    lambda path, value, schema: wording.not_supported(field(path), value, schema["enum"]),
    _words,
)

CONDITIONS: Final = frozenset({"allOf", "anyOf", "oneOf", "not"})
KEYWORDS: Final = frozenset(
    {"type", "items", "properties", "additionalProperties", "required"}
    | {rule.keyword for rule in (*TEXTS, FORMAT, *NUMBERS, *ITEMS, *PROPERTIES, ENUM)}
    | CONDITIONS
)
"""Keywords that some value can break."""
