"""Values of types by schema → values that tell their type themselves, for `dyn` and what else forgets a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.schema.cel.types import Type, holds_objects, is_optional
from orchtw.schema.cel.values import Optional


def generic(kind: Type) -> Callable[[Any], Any] | None:
    """Return a function that gives a value's members the names and values that expressions see.

    None: every value of the type has them already.
    """
    if not holds_objects(kind):
        return None
    if kind.members is not None:
        return lambda value: _object(kind, value)
    if kind.name == "list":
        each = generic(kind.parameters[0])
        return lambda value: [each(item) for item in value] if each and type(value) is list else value
    if is_optional(kind):
        inner = generic(kind.parameters[0])
        return lambda value: Optional(inner(value.value)) if inner and value.present else value
    of_values = generic(kind.parameters[1])
    if of_values is None:
        return None
    return lambda value: _mapped(value, of_values) if type(value) is dict else value


def _mapped(value: dict[str, Any], of_values: Callable[[Any], Any]) -> dict[str, Any]:
    return {key: of_values(item) for key, item in value.items()}


def _object(kind: Type, value: Any) -> Any:
    if type(value) is not dict or kind.members is None:
        return value
    found = {}
    for shown, member in kind.members().items():
        if member.key in value:
            each = value[member.key]
            if member.read is not None:
                each = member.read(each)
            turn = generic(member.type)
            found[shown] = each if turn is None else turn(each)
    return found
