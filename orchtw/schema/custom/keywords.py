"""Table of the keywords that restrict values: the test of each and the words for a value that breaks it.

`validation.py` evaluates the tests, and `check_code.py` writes the same ones into functions (reference CRD-17). What
else they know of schemas is where the values inside a value have theirs: items, properties, additionalProperties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from orchtw.errors import Cause
from orchtw.schema.custom import formats, patterns, wording
from orchtw.schema.custom.extensions import Extensions, Schema
from orchtw.schema.custom.terms import Forms
from orchtw.values import causes
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


Limits = Callable[[Schema], Sequence[Any]]
"""Limits that a schema sets by a keyword; without any it asks for nothing."""

Wording = Callable[[str, Any, Schema, Any, Forms], Cause]
"""Cause of a breach, from the path in the object, the value, the schema, the limit and the forms of causes."""


class Rule(msgspec.Struct, frozen=True):
    """Keyword of values of one type: `broken` is true of a value that breaks one of the limits.

    `quick` says the same of values that are known to be of the schema's type, where it has limits. `spares`: a value
    that breaks an earlier rule is not told of this one.
    """

    keyword: str
    broken: Expression
    cause: Wording
    limits: Limits
    quick: Rule | None = None
    spares: bool = False

    def typed(self, schema: Schema) -> Rule:
        """Return the quickest rule for values of the schema's type."""
        return self if self.quick is None or not self.quick.limits(schema) else self.quick


TYPES: Final = {
    "string": Expression("type({v}) is str"),
    "boolean": Expression("type({v}) is bool"),
    "object": Expression("type({v}) is dict"),
    "array": Expression("type({v}) is list"),
    "integer": Expression("is_integer({v})"),
    "number": Expression("(type({v}) is int or type({v}) is float)"),
}
"""Tests of whether a value is of a type."""

_NEVER: Final = Expression("False")


def type_test(kind: str) -> Expression:
    """Return the test of whether a value is of a type; of an unknown one, as definitions may have, no value is."""
    return TYPES.get(kind, _NEVER)


def types_of(schema: Schema, keys: Extensions) -> tuple[str, ...]:
    """Return the types that a schema allows; none stands for all."""
    if schema.get(keys.int_or_string):
        return "integer", "string"
    kind = schema.get("type")
    return (kind,) if kind else ()


def field(path: str) -> str:
    """Return the path as a cause names it."""
    return path.removeprefix(".") or wording.NOWHERE


def _rule(
    keyword: str,
    broken: str,
    cause: Wording | str,
    *,
    zero: bool = True,
    exclusive: bool | None = None,
    limits: Limits | None = None,
    quick: Rule | None = None,
    spares: bool = False,
) -> Rule:
    """Return the rule of a keyword with one limit; unless `zero`, a limit of 0, false or nothing does not count.

    `exclusive`: it only holds where a bound is exclusive, or only where it is not. A text in place of the cause is
    what a value should be.
    """
    flag = f"exclusive{keyword.capitalize()}"

    def given(schema: Schema) -> Sequence[Any]:
        limit = schema.get(keyword)
        if limit is None or not (limit or zero) or exclusive not in (None, bool(schema.get(flag))):
            return ()
        return (limit,)

    worded = _should(cause) if isinstance(cause, str) else cause
    return Rule(keyword, Expression(broken), worded, limits or given, quick, spares)


def _should(why: str) -> Wording:
    return lambda path, value, _schema, limit, _forms: _in_body(path, value, why.format(wording.number(limit)))


def _in_body(path: str, value: Any, why: str) -> Cause:
    shown = len(value) if type(value) in (dict, list) else value
    return wording.invalid(field(path), shown, f"{path} in body {why}")


def _unmatched(path: str, value: Any, _schema: Schema, pattern: str, _forms: Forms) -> Cause:
    wrong = patterns.fault(pattern)
    return _in_body(path, value, f"should match '{pattern}{', but pattern is invalid: ' if wrong else ''}{wrong}'")


def _misformed(path: str, value: Any, schema: Schema, _limit: Any, _forms: Forms) -> Cause:
    why = f"{path} in body must be of type {schema['format']}: {go_quote(value)}"
    return wording.wrong_type(field(path), value, why)


def _formats(schema: Schema) -> Sequence[Any]:
    check = formats.find(schema.get("format"))
    return () if check is None else (check,)


def _words(schema: Schema) -> Sequence[Any]:
    """Return an enumeration of texts, for texts."""
    allowed = schema.get("enum")
    if not allowed or schema.get("type") != "string" or any(type(each) is not str for each in allowed):
        return ()
    return (frozenset(allowed),)


def _too_many(path: str, value: Any, _schema: Schema, limit: int, _forms: Forms) -> Cause:
    return causes.too_many(field(path), len(value), limit)


def _not_among(path: str, value: Any, schema: Schema, _limit: Any, forms: Forms) -> Cause:
    return wording.not_supported(field(path), value, schema["enum"], forms)


ENUM: Final = _rule(
    "enum",
    "not is_among({v}, {limit})",
    _not_among,
    zero=False,
    quick=_rule("enum", "{v} not in {limit}", _not_among, limits=_words),
)
SIZES: Final = (
    _rule("minProperties", "len({v}) < {limit}", "should have at least {} properties"),
    _rule("maxProperties", "len({v}) > {limit}", _too_many),
)
REQUIRED: Final = _rule(
    "required",
    "{limit} not in {v}",
    lambda path, _value, _schema, name, _forms: causes.required(field(f"{path}.{name}")),
    limits=lambda schema: schema.get("required") or (),
)
RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "string": (
        _rule(
            "maxLength",
            "len({v}) > {limit}",
            lambda path, _value, _schema, limit, forms: wording.too_long(field(path), limit, forms),
        ),
        _rule("minLength", "len({v}) < {limit}", "should be at least {} chars long", spares=True),
        _rule("pattern", "not matches({limit}, {v})", _unmatched, zero=False, spares=True),
        _rule("format", "not {limit}({v})", _misformed, limits=_formats),
    ),
    "number": (
        _rule("multipleOf", "not is_multiple({v}, {limit})", "should be a multiple of {}", zero=False),
        _rule("minimum", "{v} < {limit}", "should be greater than or equal to {}", exclusive=False),
        _rule("minimum", "{v} <= {limit}", "should be greater than {}", exclusive=True),
        _rule("maximum", "{v} > {limit}", "should be less than or equal to {}", exclusive=False),
        _rule("maximum", "{v} >= {limit}", "should be less than {}", exclusive=True),
    ),
    "boolean": (),
    "array": (
        _rule("minItems", "len({v}) < {limit}", "should have at least {} items"),
        _rule("maxItems", "len({v}) > {limit}", _too_many),
        _rule(
            "uniqueItems",
            "not distinct({v})",
            lambda path, *_: _in_body(path, "", "shouldn't contain duplicates"),
            zero=False,
        ),
    ),
    "object": (*SIZES, REQUIRED),
}
"""Rules of the values of each type, integers among the numbers."""


@attrs.frozen(slots=True)
class Condition:
    """Schemas that all, some, one or none may fit, as `expression` writes it with calls of them.

    `fault` is what a value must do but does not, by the number of schemas that it fits and that of all of them.
    """

    expression: str
    joint: str
    fault: Callable[[int, int], str]

    def broken(self, calls: Iterable[str]) -> str:
        """Return the expression that is true of a value that breaks the condition."""
        return self.expression.format(self.joint.join(calls))


def _not_all(valid: int, count: int) -> str:
    return "" if valid == count else f"validate all the schemas (allOf){'' if valid else '. None validated'}"


def _not_one(valid: int, _: int) -> str:
    found = f"{valid} valid alternatives" if valid else "none valid"
    return "" if valid == 1 else f"validate one and only one schema (oneOf). Found {found}"


CONDITIONS: Final[Mapping[str, Condition]] = {
    "anyOf": Condition(
        "not ({})", " or ", lambda valid, _: "" if valid else "validate at least one schema (anyOf)"
    ),
    "oneOf": Condition("[{}].count(True) != 1", ", ", _not_one),
    "allOf": Condition("not ({})", " and ", _not_all),
    "not": Condition("{}", "", lambda valid, _: "not validate the schema (not)" if valid else ""),
}
"""Conditions in the order in which they are told."""

KEYWORDS: Final = frozenset(
    {"type", "items", "properties", "additionalProperties", ENUM.keyword, *CONDITIONS}
    | {rule.keyword for rules in RULES.values() for rule in rules}
)
"""Keywords that some value can break."""
