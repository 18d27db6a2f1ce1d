"""Messages that mutations write out: objects to merge, and operations of JSON patches (reference POLICY-12)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from orchtw.schema.cel.admission import Language
from orchtw.schema.cel.environment import object_type
from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.types import DYN, STRING, CelMember, Type, list_of
from orchtw.schema.cel.values import Instance, Optional, extent, type_name

OBJECT: Final = "Object"
PATCH: Final = "JSONPatch"

MOST_PARTS: Final = 1_000_000
"""Parts that the value of a mutation may have: more than fit into a request."""

_SCALARS: Final = frozenset({bool, int, float, str, type(None)})


class _AnyMembers(dict[str, CelMember]):
    """Members of a message that may have any field: the schema of the object is not known before the request."""

    def get(self, key: str, default: Any = None) -> CelMember:
        """Return a member of any type."""
        return CelMember(key, DYN, None)

    def __getitem__(self, key: str) -> CelMember:
        return self.get(key)


_ANY: Final = _AnyMembers()
OPERATION: Final = object_type(PATCH, {"op": STRING, "path": STRING, "from": STRING, "value": DYN})
"""Type of one operation of a JSON patch."""


def _message(name: str) -> Type | None:
    """Return the type of a message: one of objects is named by its path, such as `Object.spec.template`."""
    if name == PATCH:
        return OPERATION
    if name == OBJECT or name.startswith(OBJECT + "."):
        return Type(name, members=lambda: _ANY)
    return None


MUTATIONS: Final = Language(messages=_message)
"""Language of mutations that have been accepted."""

RESULTS: Final = {"ApplyConfiguration": (Type(OBJECT),), "JSONPatch": (list_of(OPERATION),)}
"""Results that the expressions of mutations may have, by patch type."""


def as_json(value: Any) -> Any:
    """Return the JSON of an object's message; messages in it must be named by their place. Raises Failure."""
    return _written_out(value, lambda each: _json(each, OBJECT))


def _written_out(value: Any, write: Callable[[Any], Any]) -> Any:
    """Return what `write` makes of a value; one that has the same part several times may be huge. Raises Failure."""
    if extent(value) > MOST_PARTS:
        raise Failure(f"value has more than {MOST_PARTS} parts")
    try:
        return write(value)
    except RecursionError:  # of a policy's variables: each may hold the one before
        raise Failure("value is nested too deep") from None


def _json(value: Any, path: str) -> Any:
    """Return the JSON of a value whose messages are named by this path."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is Instance:
        if value.name != path:
            raise Failure(
                f'unexpected type name "{value.name}", expected "{path}", which matches field name path from root '
                "Object type"
            )
        return {key: _json(each, f"{path}.{key}") for key, each in value.fields.items()}
    if kind is list:
        return [_json(each, path) for each in value]
    if kind is dict:
        return {str(key): _json(each, path) for key, each in value.items()}
    if kind is Optional:
        return _json(value.value, path) if value.present else None
    if isinstance(value, int):
        return int(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    raise Failure(f"unsupported type: {type_name(value)}")


def operations_of(value: list[Any]) -> list[dict[str, Any]]:
    """Return the operations of a JSON patch. Raises Failure."""
    found: list[dict[str, Any]] = _written_out(value, _operations)
    return found


def _operations(value: list[Any]) -> list[dict[str, Any]]:
    found = []
    for each in value:
        if type(each) is not Instance or each.name != PATCH:
            raise Failure("type conversion error: unsupported patch operation")
        operation = dict(each.fields)
        if "value" in operation:
            operation["value"] = _patched_value(operation["value"])
        found.append(operation)
    return found


def _patched_value(value: Any) -> Any:
    """Return the JSON of an operation's value, in which an object is named by its path in the whole one."""
    return _json(value, value.name) if type(value) is Instance else _in_parts(value)


def _in_parts(value: Any) -> Any:
    if type(value) is list:
        return [_patched_value(each) for each in value]
    if type(value) is dict:
        return {str(key): _patched_value(each) for key, each in value.items()}
    return _json(value, OBJECT)
