"""Functions with their types and costs, and the choice of the one that a call means."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from orchtw.schema.cel.types import DYN, NOTHING, NULL, Type, list_of, map_of, optional_of, unify

_SIGNATURE: Final = re.compile(
    r"(?:(?P<target>[a-zA-Z_.(), ]+)\.)?(?P<name>[^(.]+)\((?P<rest>.*)\) -> (?P<result>.+)"
)


class Overload(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A function for arguments of some types, the target of a method among them.

    `cost`: computes from the arguments the steps that a call takes beside its own; None: no more. A type of capital
    letters is a variable. `metered`: `run` gets the frame before the arguments, and charges its steps itself.
    """

    name: str
    method: bool
    parameters: tuple[Type, ...]
    result: Type
    run: Callable[..., Any]
    cost: Callable[..., int] | None
    metered: bool


def overload(
    signature: str,
    run: Callable[..., Any],
    cost: Callable[..., int] | None = None,
    *,
    metered: bool = False,
    namespaced: bool = False,
) -> Overload:
    """Return the function of a signature such as `string.contains(string) -> bool`.

    `namespaced`: what stands before the dot is part of the name, and not the type of a method's target.
    """
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"no signature: {signature}")
    target = None if namespaced else match["target"]
    parameters = tuple(_type(each) for each in ([target] if target else []) + _split(match["rest"]))
    return Overload(
        name=f"{match['target']}.{match['name']}" if namespaced else match["name"],
        method=bool(target),
        parameters=parameters,
        result=_type(match["result"]),
        run=run,
        cost=cost,
        metered=metered,
    )


def _split(text: str) -> list[str]:
    """Split at commas outside of parentheses."""
    parts, depth, part = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    return [*parts, part.strip()] if part.strip() else parts


def _type(text: str) -> Type:
    name, _, rest = text.strip().partition("(")
    parameters = [_type(each) for each in _split(rest.removesuffix(")"))]
    if name == "list":
        return list_of(*parameters)
    if name == "map":
        return map_of(*parameters)
    if name == "optional_type":
        return optional_of(*parameters)
    return _KEPT.get(name) or Type(name)


_KEPT: Final = {each.name: each for each in (DYN, NULL, NOTHING)}
"""Types that are compared by identity."""


Match = tuple[Overload, dict[str, Type]]
"""A function that takes the arguments, and the types that its type variables then have."""


def matching(candidates: tuple[Overload, ...], method: bool, arguments: tuple[Type, ...]) -> list[Match]:
    """Return the functions that take arguments of these types, each with its bound type variables."""
    if any(each.parameters or each.members is not None for each in arguments):
        return _matching(candidates, method, arguments)
    return _matching_scalars(candidates, method, arguments)


def _matching(candidates: tuple[Overload, ...], method: bool, arguments: tuple[Type, ...]) -> list[Match]:
    found = []
    for each in candidates:
        if each.method == method and len(each.parameters) == len(arguments):
            bound: dict[str, Type] = {}
            if all(unify(*pair, bound) for pair in zip(each.parameters, arguments, strict=True)):
                found.append((each, bound))
    return found


@lru_cache(maxsize=1024)
def _matching_scalars(candidates: tuple[Overload, ...], method: bool, arguments: tuple[Type, ...]) -> list[Match]:
    """Match and remember: there are few types without parameters and members."""
    return _matching(candidates, method, arguments)
