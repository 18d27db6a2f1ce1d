"""Application of a mutating webhook's patch, with defaults (reference HOOK-17, HOOK-24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
import orjson

from orchtw.admission.webhooks.views import VERSION
from orchtw.apply.json_patch import CannotApply, json_patch, parse_json_patch
from orchtw.apply.managed_fields import ManagedFieldsError, decode
from orchtw.apply.merge_type import UNTYPED_OBJECT
from orchtw.errors import InternalError, StatusError
from orchtw.schema.codec.json_text import check_parts, load_json
from orchtw.wire.objects import Object

_BAD_OWNERS: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests"
)

Operations = list[dict[str, Any]]


class Patched(msgspec.Struct, frozen=True):
    """Result of a patch: the object, whether it `changed`, and in `text` the patch as audit annotations show it.

    `warning` is a warning for the client, or empty.
    """

    obj: Object
    changed: bool
    text: bytes
    warning: str = ""


def operations_of(patch: bytes) -> Operations:
    """Return the operations of a patch. Raises InternalError (500) for a malformed patch."""
    try:
        return parse_json_patch(patch)
    except StatusError as problem:
        raise InternalError.of(problem.message) from None


def _keep_version(obj: Object, before: Object) -> None:
    """Restore the resourceVersion: webhooks are shown that of the old object, and cannot change it."""
    meta, kept = obj.get("metadata"), before.get("metadata")
    if type(meta) is dict and type(kept) is dict:
        meta.pop(VERSION, None)
        if VERSION in kept:
            meta[VERSION] = kept[VERSION]


def _keep_owners(obj: Object, before: Object) -> str:
    """Restore managedFields that the patch made invalid; returns a warning for the client, or an empty one."""
    meta, kept = obj.get("metadata") or {}, before.get("metadata") or {}
    found, owners = meta.get("managedFields"), kept.get("managedFields")
    if found == owners:
        return ""
    try:
        decode(found or (), lambda _version: UNTYPED_OBJECT)
    except ManagedFieldsError as problem:
        meta.pop("managedFields")
        if owners is not None:
            meta["managedFields"] = owners
        return f"{_BAD_OWNERS}: {problem}"
    return ""


def patched(before: Object, text: bytes, operations: Operations, read: Callable[[Object], Object]) -> Patched:
    """Apply operations to `before`, whose JSON is `text`; `read` makes the result canonical.

    Raises InternalError (500) for operations that do not apply, or whose result is not an object of the kind.
    """
    try:
        shown = orjson.dumps(operations, option=orjson.OPT_SORT_KEYS)
        found = json_patch(load_json(text), operations)
        if type(found) is not dict:
            raise InternalError.of("the patched document is not an object")
        check_parts(found)
        obj = read(found)
        _keep_version(obj, before)
        warning = _keep_owners(obj, before)
        return Patched(obj, obj != before, shown, warning)
    except CannotApply as problem:
        raise InternalError.of(problem.why) from None
    except InternalError:
        raise
    except (StatusError, ValueError) as problem:
        raise InternalError.of(str(problem)) from None
    except (TypeError, RecursionError):
        raise InternalError.of("the patch contains numbers that are too large, or is nested too deeply") from None
