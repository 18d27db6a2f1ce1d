"""Changes of objects by mutations: apply configurations and JSON patches (reference POLICY-12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from orchtw.apply.json_patch import CannotApply, json_patch
from orchtw.apply.merge_type import LEAF_SHAPE, ListType, MapType, Type, of_value
from orchtw.apply.type_check import fits, problems
from orchtw.apply.typed import merge_maps
from orchtw.errors import StatusError
from orchtw.schema.codec.json_text import check_parts, load_json
from orchtw.wire.objects import Object

_TEST_FAILED: Final = ": test failed"
_UNTYPED: Final = "error applying patch: failed to convert patch object to typed object: "
_ATOMIC: Final = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
_UNKNOWN: Final = Type(LEAF_SHAPE)

Read = Callable[[Object], Object]
"""Function that makes an object canonical, with all defaults."""


class CannotMutate(Exception):
    """Error: a mutation cannot be applied; the text says why."""


def merged(kind: MapType, before: Object, configuration: Object, read: Read) -> Object:
    """Return an object merged with an apply configuration, which owns nothing. Raises CannotMutate."""
    if not fits(kind, configuration):
        wrong = problems(kind, configuration)
        raise CannotMutate(_UNTYPED + (wrong[0] if len(wrong) == 1 else "\n  ".join(("errors:", *wrong))))
    atomic = list(_atomic(kind, configuration, ""))
    if atomic:
        raise CannotMutate(_ATOMIC + ", ".join(atomic))
    try:
        found = merge_maps(kind, before, configuration)
        return before if found is before else read(load_json(orjson.dumps(found)))
    except StatusError as problem:
        raise CannotMutate(f"error applying patch: {problem.message}") from None
    except (TypeError, ValueError) as problem:
        raise CannotMutate(f"error applying patch: {problem}") from None


def _atomic(kind: Type, value: Any, path: str) -> Iterator[str]:
    """Yield the paths of lists, maps and structs in a configuration that are merged as a whole."""
    if isinstance(value, dict):
        if not isinstance(kind, MapType):
            kind = of_value(value)
        if not isinstance(kind, MapType) or kind.shape == LEAF_SHAPE:
            yield path
            return
        for key, each in value.items():
            field = kind.fields.get(key)
            inner = field[1] if field is not None else kind.element or _UNKNOWN
            yield from _atomic(inner, each, f"{path}.{key}")
    elif isinstance(value, list):
        if not isinstance(kind, ListType) or kind.shape == LEAF_SHAPE:
            yield path
            return
        for index, each in enumerate(value):
            yield from _atomic(kind.element, each, path + _step(kind, each, index))


def _step(kind: ListType, item: Any, index: int) -> str:
    if not kind.keys or not isinstance(item, dict):
        return f"[{index}]"
    return f"[{','.join(f'{key}={orjson.dumps(item.get(key)).decode()}' for key in kind.keys)}]"


def patched(before: Object, operations: list[dict[str, Any]], read: Read) -> Object:
    """Return an object changed by a JSON patch, or as it was if a test fails. Raises CannotMutate."""
    try:
        found = json_patch(load_json(orjson.dumps(before)), load_json(orjson.dumps(operations)))
        if type(found) is not dict:
            raise CannotMutate("JSON Patch: the patched document is not an object")
        check_parts(found)
        return read(found)
    except CannotApply as problem:
        if problem.why.endswith(_TEST_FAILED):
            return before
        raise CannotMutate(f"JSON Patch: {problem.why}") from None
    except StatusError as problem:
        raise CannotMutate(f"JSON Patch: {problem.message}") from None
    except (TypeError, ValueError) as problem:
        raise CannotMutate(f"JSON Patch: {problem}") from None
