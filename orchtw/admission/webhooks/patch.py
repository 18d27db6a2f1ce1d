"""What a mutating webhook makes of an object: its patch applied, defaults and all (reference HOOK-17, HOOK-24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import orjson

from orchtw.admission.webhooks.views import VERSION
from orchtw.apply.json_patch import CannotApply, json_patch, parse_json_patch
from orchtw.errors import InternalError, StatusError
from orchtw.objects import Object
from orchtw.schema.codec.json_text import check_parts, load_json

Operations = list[dict[str, Any]]


@attrs.frozen(slots=True)
class Patched:
    """The object after a patch, and whether that differs from before; `text` is the patch as audit shows it."""

    obj: Object
    changed: bool
    text: bytes


def operations_of(patch: bytes) -> Operations:
    """The operations of a patch. Raises InternalError (500) for what is none."""
    try:
        return parse_json_patch(patch)
    except StatusError as problem:
        raise InternalError.of(problem.message) from None


def _keep_version(obj: Object, before: Object) -> None:
    """Webhooks are shown the version of the old object, and cannot change it."""
    meta, kept = obj.get("metadata"), before.get("metadata")
    if type(meta) is dict and type(kept) is dict:
        meta.pop(VERSION, None)
        if VERSION in kept:
            meta[VERSION] = kept[VERSION]


def patched(before: Object, text: bytes, operations: Operations, read: Callable[[Object], Object]) -> Patched:
    """`before`, whose JSON is `text`, after some operations; `read` makes it canonical.

    Raises InternalError (500) for operations that do not apply, or leave what is no such object.
    """
    try:
        shown = orjson.dumps(operations, option=orjson.OPT_SORT_KEYS)
        found = json_patch(load_json(text), operations)
        if type(found) is not dict:
            raise InternalError.of("the patch leaves no object")
        check_parts(found)
        obj = read(found)
        _keep_version(obj, before)
        return Patched(obj, obj != before, shown)
    except CannotApply as problem:
        raise InternalError.of(problem.why) from None
    except InternalError:
        raise
    except (StatusError, ValueError) as problem:
        raise InternalError.of(str(problem)) from None
    except (TypeError, RecursionError):
        raise InternalError.of("the patch has numbers that are too large, or is nested too deeply") from None
