"""Label selectors: the text form in queries and the object form in specs (reference READ-18, READ-24).

Field selectors are in `field_selectors` and re-exported here, because callers use both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import attrs
import msgspec

from orchtw.errors import MAX_CAUSES, BadRequest, Cause
from orchtw.rules.field_selectors import (
    ALL_FIELDS,
    MAX_REQUIREMENTS,
    FieldSelector,
    check_length,
    exact_field,
    field_value,
    parse_fields,
)
from orchtw.values import names
from orchtw.values.causes import forbidden, go_quote, invalid, required

__all__ = [
    "ALL_FIELDS",
    "ALL_LABELS",
    "NO_LABELS",
    "FieldSelector",
    "LabelSelector",
    "Requirement",
    "exact_field",
    "field_value",
    "parse_fields",
    "parse_labels",
    "requirement_causes",
    "selector_of_object",
    "validate_selector_object",
]

_PARSED = 512  # parsed selectors kept in a cache; a watch-heavy cluster uses a few dozen distinct ones
_LONGEST_KEPT = 512  # characters; a longer selector is parsed each time, so that the cache stays small

_SEARCHED = 4  # most values that are searched in a tuple instead of a set

_EMPTY: Final[Mapping[str, str]] = {}


@attrs.frozen(slots=True)
class Requirement:
    """One term: a key, an operator of `exists ! = == != in notin gt lt`, and sorted values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    _members: Collection[str] = attrs.field(init=False, eq=False, repr=False)

    @_members.default
    def _fast_to_search(self) -> Collection[str]:
        return self.values if len(self.values) <= _SEARCHED else frozenset(self.values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether the term holds for `labels`; a missing key satisfies `!`, `!=` and `notin`."""
        value = labels.get(self.key)
        operator = self.operator
        if operator in ("=", "==", "in"):
            return value in self._members
        if operator in ("!=", "notin"):
            return value not in self._members
        if operator == "exists":
            return value is not None
        if operator == "!":
            return value is None
        return value is not None and self._compare(value)

    def _compare(self, value: str) -> bool:
        number = _integer(value)
        if number is None:
            return False
        bound = int(self.values[0])
        return number > bound if self.operator == "gt" else number < bound

    def __str__(self) -> str:
        operator = self.operator
        if operator == "exists":
            return self.key
        if operator == "!":
            return "!" + self.key
        if operator in ("in", "notin"):
            return f"{self.key} {operator} ({','.join(self.values)})"
        return f"{self.key}{_SIGNS.get(operator, operator)}{self.values[0]}"


_SIGNS: Final = {"gt": ">", "lt": "<"}


class LabelSelector(msgspec.Struct, frozen=True):
    """A conjunction of requirements in key order; hashable, and equal when the requirements are.

    `nothing` marks the selector of an absent LabelSelector object, which matches no labels at all.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """Report whether the selector matches everything."""
        return not self.requirements and not self.nothing

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """Return (key, value) pairs that every match has, for lookups in an index."""
        return tuple((r.key, r.values[0]) for r in self.requirements if r.operator in _ONE and len(r.values) == 1)

    @property
    def choices(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return (key, values) pairs, for an index: every match has one of the values or, without values, the key."""
        return tuple(
            (r.key, r.values if r.operator in _ONE else ())
            for r in self.requirements
            if r.operator in _ONE or r.operator in _PRESENT
        )

    @property
    def exclusions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return (key, values) pairs, for an index: no match has any of the values or, without values, the key."""
        return tuple((r.key, r.values) for r in self.requirements if r.operator in _NOT)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Report whether every requirement holds for `labels`; None means no labels."""
        if self.nothing:
            return False
        labels = labels or _EMPTY
        for requirement in self.requirements:  # a generator in all() costs twice this loop per object
            if not requirement.matches(labels):
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_ONE: Final = frozenset({"=", "==", "in"})
_PRESENT: Final = frozenset({"exists", "gt", "lt"})
_NOT: Final = frozenset({"!", "!=", "notin"})
ALL_LABELS: Final = LabelSelector()
NO_LABELS: Final = LabelSelector(nothing=True)


def parse_labels(text: str) -> LabelSelector:
    """Parse a selector; empty text selects everything.

    Raises BadRequest (400) with the parser's text (reference READ-19).
    """
    if not text:
        return ALL_LABELS
    check_length(text)
    return _parse_kept(text) if len(text) <= _LONGEST_KEPT else _Parser(text).parse()


@lru_cache(maxsize=_PARSED)
def _parse_kept(text: str) -> LabelSelector:
    return _Parser(text).parse()


_SPECIAL: Final = "=!(),><"
_WORDS: Final = re.compile(r"[=!]=|[=!(),><]|[^ \t\r\n=!(),><]+").findall
_KEYWORDS: Final = frozenset({"in", "notin"})
_OPERATORS: Final = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_END: Final = ""
_IDENTIFIER: Final = "identifier"


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return (kind, literal) pairs; the kind of a symbol or keyword is itself, and the last kind is `_END`."""
    out: list[tuple[str, str]] = []
    for word in _WORDS(text):
        kind = word if word[0] in _SPECIAL or word in _KEYWORDS else _IDENTIFIER
        out.append((kind, word))
    out.append((_END, ""))
    return out


class _Parser:
    """Recursive-descent parser for the grammar of reference READ-18; every error is a BadRequest (400)."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def parse(self) -> LabelSelector:
        requirements: list[Requirement] = []
        kind, literal = self._peek()
        while kind != _END:
            if kind not in (_IDENTIFIER, "!"):
                raise BadRequest(f"found '{literal}', expected: !, identifier, or 'end of string'")
            requirements.append(self._requirement())
            if len(requirements) > MAX_REQUIREMENTS:
                raise BadRequest(f"unable to parse requirement: more than {MAX_REQUIREMENTS} requirements")
            kind, literal = self._next()
            if kind == ",":
                kind, literal = self._peek()
                if kind not in (_IDENTIFIER, "!"):
                    raise BadRequest(f"found '{literal}', expected: identifier after ','")
            elif kind != _END:
                raise BadRequest(f"found '{literal}', expected: ',' or 'end of string'")
        return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))

    def _peek(self) -> tuple[str, str]:
        """Return the next token, with a keyword as an identifier."""
        kind, literal = self._tokens[self._at]
        return (_IDENTIFIER if kind in _KEYWORDS else kind), literal

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        if self._at < len(self._tokens) - 1:
            self._at += 1
        return token

    def _fail(self, why: str) -> BadRequest:
        return BadRequest(f"unable to parse requirement: {why}")

    def _requirement(self) -> Requirement:
        kind, key = self._next()
        negated = kind == "!"
        if negated:
            kind, key = self._next()
        if kind != _IDENTIFIER:
            raise self._fail(f"found '{key}', expected: identifier")
        if errors := names.qualified_name(key):
            raise self._fail(f"invalid label key {go_quote(key)}: {'; '.join(errors)}")
        if negated or self._peek()[0] in (_END, ","):
            return Requirement(key, "!" if negated else "exists")
        kind, literal = self._tokens[self._at]
        self._next()
        if kind not in _OPERATORS:
            raise self._fail(f"found '{literal}', expected: in, notin, =, ==, !=, gt, lt")
        operator = _OPERATORS[kind]
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return self._checked(key, operator, tuple(sorted(values)))

    def _checked(self, key: str, operator: str, values: tuple[str, ...]) -> Requirement:
        if operator in ("gt", "lt") and _integer(values[0]) is None:
            raise self._fail("for 'Gt', 'Lt' operators, the value must be an integer")
        for value in values:
            if errors := names.label_value(value):
                raise self._fail(
                    f"invalid label value: {go_quote(value)}: at key: {go_quote(key)}: {'; '.join(errors)}"
                )
        return Requirement(key, operator, values)

    def _exact_value(self) -> str:
        if self._peek()[0] in (_END, ","):
            return ""
        kind, literal = self._next()
        if kind != _IDENTIFIER:
            raise self._fail(f"found '{literal}', expected: identifier")
        return literal

    def _values(self) -> set[str]:
        kind, literal = self._next()
        if kind != "(":
            raise self._fail(f"found '{literal}' expected: '('")
        kind, literal = self._peek()
        if kind == ")":
            self._next()
            return {""}
        if kind not in (_IDENTIFIER, ","):
            raise self._fail(f"found '{literal}', expected: ',', ')' or identifier")
        return self._value_list()

    def _value_list(self) -> set[str]:
        """Parse the values up to the closing parenthesis; an empty place between commas is the empty value."""
        values: set[str] = set()
        before = ","
        while True:
            kind, literal = self._next()
            if kind == _IDENTIFIER and before == ",":
                values.add(literal)
            elif kind in (",", ")"):
                if before == ",":
                    values.add("")
                if kind == ")":
                    return values
            elif before == ",":
                raise self._fail(f"found '{literal}', expected: ',', or identifier")
            else:
                raise self._fail(f"found '{literal}', expected: ',' or ')'")
            before = kind


_INT64 = 1 << 63


def _integer(text: str) -> int | None:
    """Parse a signed 64-bit decimal number; None if `text` is not one."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


_OBJECT_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selector_of_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Convert a LabelSelector object: None matches nothing, an empty one everything.

    Raises BadRequest (400) for an invalid one, such as one with an unknown operator, as stored objects may have it.
    """
    if selector is None:
        return NO_LABELS
    requirements = [Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for entry in selector.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS.get(entry["operator"])
        if operator is None:
            raise BadRequest(f"{go_quote(entry['operator'])} is not a valid label selector operator")
        values = tuple(sorted(set(entry.get("values") or ())))
        if bool(values) is not (operator in _KEYWORDS):
            raise BadRequest(
                f"values: the operator {entry['operator']} at key {go_quote(entry['key'])} takes "
                + ("none" if values else "at least one")
            )
        requirements.append(Requirement(entry["key"], operator, values))
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def validate_selector_object(selector: Mapping[str, Any], field: str) -> list[Cause]:
    """Return the causes that reject the LabelSelector object at `field` (reference READ-24).

    With an empty `field`, paths are relative to the selector.
    """
    causes: list[Cause] = []
    below = f"{field}." if field else ""
    labels = f"{below}matchLabels"
    for key, value in (selector.get("matchLabels") or {}).items():
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid(labels, key, text) for text in names.qualified_name(key)]
        causes += [invalid(labels, value, text) for text in names.label_value(value)]
    for index, entry in enumerate(selector.get("matchExpressions") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += _expression(entry, f"{below}matchExpressions[{index}]")
    return causes


def requirement_causes(entry: Mapping[str, Any], field: str, *, later_operators: bool = False) -> list[Cause]:
    """Return the causes that reject operator and values of the requirement at `field`.

    With `later_operators`, an unknown operator is allowed: a later release may have added it.
    """
    operator, values = entry.get("operator", ""), entry.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            return [required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [forbidden(f"{field}.values", why)]
    elif not later_operators:
        return [invalid(f"{field}.operator", operator, "not a valid selector operator")]
    return []


def _expression(entry: Mapping[str, Any], field: str) -> Sequence[Cause]:
    key = entry.get("key", "")
    named = (invalid(f"{field}.key", key, text) for text in names.qualified_name(key))
    return [*requirement_causes(entry, field), *named]
