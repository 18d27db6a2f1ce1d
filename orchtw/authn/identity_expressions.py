"""Expressions about the claims of a token and about its user (reference AUTHN-63)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.request import UserInfo
from orchtw.schema.cel.compiler import Compiled, compiled
from orchtw.schema.cel.environment import Environment, object_type
from orchtw.schema.cel.faults import CostExceeded, Failure, Fault
from orchtw.schema.cel.parser import parse
from orchtw.schema.cel.syntax import CallExpression, Expression, Literal, Name, Select, parts_of
from orchtw.schema.cel.types import BOOL, DYN, STRING, Type, list_of, map_of

CLAIMS: Final = "claims"
USER: Final = "user"
STEPS: Final = 1_000_000
"""Steps that one expression may take: as many as a rule of a definition."""

_TEXTS: Final = list_of(STRING)
_USER: Final = object_type(
    "kubernetes.UserInfo",
    {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)},
)
VARIABLES: Final[Mapping[str, Type]] = {CLAIMS: map_of(STRING, DYN), USER: _USER}

CONDITION: Final = (BOOL,)
TEXT: Final = (STRING,)
TEXTS: Final = (STRING, _TEXTS)
"""Types that the value of an expression may have."""

_INDEXES: Final = ("_[_]", "_[?_]")


class NoValue(Exception):
    """Error: an expression has no value for a token; the text says why."""


class IdentityExpression(msgspec.Struct, frozen=True):
    """A compiled expression about one variable; `members` are those of the variable that it reads by name."""

    source: str
    variable: str
    code: Compiled
    members: frozenset[str]

    @classmethod
    def of(
        cls, source: str, variable: str, results: Sequence[Type], environment: Environment
    ) -> IdentityExpression | str:
        """Compile an expression whose value is of one of these types; return the error of one that has none."""
        try:
            code = compiled(source, {variable: VARIABLES[variable]}, environment)
        except Fault as fault:
            return f"compilation failed: {fault.shown(source)}"
        kind = code.code.type
        if kind != DYN and kind not in results and not (kind == list_of(DYN) and _TEXTS in results):
            wanted = str(results[0]) if len(results) == 1 else f"one of [{' '.join(map(str, results))}]"
            return f"must evaluate to {wanted}"
        tree = parse(source, optionals=environment.optionals)
        return cls(source, variable, code, frozenset(_members(tree, variable)))

    def value(self, given: Any) -> Any:
        """Return the value for claims or a user. Raises NoValue."""
        try:
            return self.code.run(self.code.frame_of({self.variable: given}, STEPS))
        except Failure as failure:
            raise NoValue(str(failure)) from None
        except CostExceeded:
            raise NoValue("operation cancelled: actual cost limit exceeded") from None

    def holds(self, given: Any) -> bool:
        """Report whether the value is true. Raises NoValue."""
        return self.value(given) is True

    def text(self, given: Any) -> str:
        """Return a value that is a string. Raises NoValue."""
        found = self.value(given)
        if not isinstance(found, str):
            raise NoValue("must return a string")
        return found

    def texts(self, given: Any) -> list[str]:
        """Return a string, unless it is empty, or list of strings as a list; null is an empty one. Raises NoValue."""
        found = self.value(given)
        if isinstance(found, str):
            return [found] if found else []
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise NoValue("must return a string or a list of strings")
        return [each for each in found if each]


def _members(tree: Expression, variable: str) -> Iterator[str]:
    for part in parts_of(tree):
        match part:
            case Select(operand=Name(name=name), member=member) if name == variable:
                yield member
            case CallExpression(function=function, arguments=(Name(name=name), Literal(value=str() as member))) if (
                function in _INDEXES and name == variable
            ):
                yield member


def shown_user(user: UserInfo) -> dict[str, Any]:
    """Return a user as expressions see it."""
    extra = {key: list(values) for key, values in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
