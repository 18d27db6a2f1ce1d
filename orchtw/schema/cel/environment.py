"""Environments of expressions: the functions, macros and syntax that a release has (reference CRD-28)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.library import (
    authorizers,
    formatting,
    json_patches,
    list_changes,
    lists,
    moments,
    named_formats,
    networks,
    operators,
    optionals,
    patterns,
    quantities,
    semver,
    sets,
    texts,
    urls,
)
from orchtw.schema.cel.macros import MACROS, SORTING, TWO_VARIABLES, Macro
from orchtw.schema.cel.overloads import Overload
from orchtw.schema.cel.types import CelMember, Type

Release = tuple[int, int]
Macros = Mapping[tuple[str, int], Macro]

_FIRST: Final[Release] = (1, 24)
_NEWEST: Final[Release] = (1, 9999)
_OPTIONALS: Final[Release] = (1, 28)
_CHECKED_LITERALS: Final[Release] = (1, 29)


class _Library(msgspec.Struct, frozen=True):
    """Functions and macros that came with a release; `admission`: only policies have them."""

    since: Release
    functions: tuple[Overload, ...] = ()
    macros: Macros = {}
    admission: bool = False


_BASE: Final = (operators, moments, texts, lists, patterns, urls)
_LIBRARIES: Final = (
    _Library(_FIRST, tuple(each for module in _BASE for each in module.FUNCTIONS), MACROS),
    _Library((1, 27), authorizers.FUNCTIONS, admission=True),
    _Library(_OPTIONALS, (*optionals.FUNCTIONS, *operators.ACROSS, *quantities.FUNCTIONS)),
    _Library(_CHECKED_LITERALS, (*formatting.FUNCTIONS, *sets.FUNCTIONS)),
    _Library((1, 30), networks.FUNCTIONS),
    _Library((1, 31), named_formats.FUNCTIONS),
    _Library((1, 31), authorizers.SELECTORS, admission=True),
    _Library((1, 32), macros=TWO_VARIABLES),
    _Library((1, 32), json_patches.FUNCTIONS, admission=True),
    _Library((1, 33), semver.FUNCTIONS),
    _Library((1, 34), list_changes.FUNCTIONS, SORTING),
)

Messages = Callable[[str], Type | None]
"""Finds the type of a message literal by its name; its members are the fields that it may have."""


class Environment(msgspec.Struct, frozen=True, eq=False):
    """Functions, macros and syntax of expressions, beside their variables.

    `optionals`: the syntax and forms of optional values. `checked`: literals of patterns, times and durations are
    checked before the expression runs. `messages`: the messages that may be written out; None: none. `bindings`:
    `cel.bind` names the value of a part.
    """

    functions: Mapping[str, tuple[Overload, ...]]
    macros: Macros
    optionals: bool
    checked: bool
    messages: Messages | None = None
    bindings: bool = False

    def writing(self, messages: Messages) -> Environment:
        """Return the environment with message literals."""
        return msgspec.structs.replace(self, messages=messages)

    def binding(self) -> Environment:
        """Return the environment with `cel.bind`."""
        return msgspec.structs.replace(self, bindings=True)


@lru_cache(maxsize=32)
def environment(release: Release | None = None, *, admission: bool = False) -> Environment:
    """Return the environment of new expressions that a release must know; None: that of stored ones.

    A stored expression may use everything that is known, and its literals are not checked: it has been accepted.
    `admission`: with what only policies have.
    """
    until = release or _NEWEST
    functions: dict[str, tuple[Overload, ...]] = {}
    macros: dict[tuple[str, int], Macro] = {}
    for library in _LIBRARIES:
        if library.since <= until and (admission or not library.admission):
            macros |= library.macros
            for each in library.functions:
                functions[each.name] = (*functions.get(each.name, ()), each)
    return Environment(functions, macros, until >= _OPTIONALS, release is not None and release >= _CHECKED_LITERALS)


def compatible(release: Release) -> Release:
    """Return the release whose language new expressions have under an emulated one: the release before it.

    Servers of that release can then still read what is stored.
    """
    return max(_FIRST, (release[0], release[1] - 1))


def object_type(name: str, members: Mapping[str, Type]) -> Type:
    """Return the type of objects with these members, which are values of their types as they are in JSON."""
    found = {key: CelMember(key, kind, None) for key, kind in members.items()}
    return Type(name, members=lambda: found)


class Lazy:
    """Values of members that are computed when they are first asked for, as variables of policies are.

    `compute` may raise Failure, which is raised again for the same member, or CostExceeded.
    """

    def __init__(self, compute: Callable[[str], Any]) -> None:
        self._compute = compute
        self._known: dict[str, Any] = {}
        self._failures: dict[str, Exception] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._known:
            return self._known[key]
        if key in self._failures:
            raise self._failures[key]
        try:
            found = self._known[key] = self._compute(key)
        except Failure as failure:
            self._failures[key] = failure
            raise
        return found
