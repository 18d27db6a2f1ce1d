"""Strategic merge patch: a merge patch in which lists can merge, by a key or as sets (reference PATCH-13).

Merge strategies and keys come from the schema. Only the parts that the patch names are visited and copied.
"""

from __future__ import annotations

from typing import Any, Final

from orchtw.apply.list_order import in_order, is_subsequence
from orchtw.apply.shown import go_plain
from orchtw.errors import BadRequest
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.nodes import EitherSchema, Field, ListSchema, MapSchema, Node, StructSchema

Map = dict[str, Any]

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_PREFIX: Final = "$deleteFromPrimitiveList/"
ORDER_PREFIX: Final = "$setElementOrder/"

MAX_COPIED: Final = 1 << 23
"""Maximum number of members and elements that a merge may copy: several times those of the largest object."""

_BAD_PRIMITIVES: Final = "invalid patch format of primitive list"
_BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"
_NOT_RETAINED: Final = "patch content doesn't match retainKeys list"


def parse_strategic_patch(body: bytes) -> Map:
    """Return the patch document. Raises BadRequest (400) for anything but a JSON object."""
    try:
        document = parse_json(body)
    except ValueError as error:
        raise BadRequest(f"error decoding patch: {error}") from None
    if type(document) is not dict:
        raise BadRequest("error decoding patch: a strategic merge patch must be a JSON object")
    return document


def strategic_merge(live: Map, patch: Map, schema: StructSchema) -> Map:
    """Return `live`, an object of `schema`, merged with `patch`. Modifies neither; the result shares their parts.

    Raises BadRequest (400) for invalid directives and for list elements without their merge key.
    """
    merged = _Merging().merged(live, patch, schema)
    return {} if merged is None else merged


class _Merging:
    """State of one merge. It counts what is copied, since a patch may change the same list element repeatedly."""

    def __init__(self) -> None:
        self._copied = 0

    def _count(self, size: int) -> None:
        self._copied += size
        if self._copied > MAX_COPIED:
            raise BadRequest("the patch changes the same elements too often")

    def merged(self, live: Map, patch: Map, node: Node | None) -> Map | None:
        """Return the merged map, or None if the patch deletes it."""
        directive = patch.get(DIRECTIVE)
        if directive == "delete":
            return None
        if directive == "replace":
            live = {}
        elif directive is not None and directive != "merge":
            raise _unknown_directive(directive, patch)
        self._count(len(live))
        merged = _retained(live, patch) if RETAIN_KEYS in patch else dict(live)
        ordered = self._ordered_lists(merged, patch, node)
        for key, value in patch.items():
            if key[:1] == "$" and (key in (DIRECTIVE, RETAIN_KEYS) or key.startswith((DELETE_PREFIX, ORDER_PREFIX))):
                continue
            if key in ordered:
                continue
            if value is None:
                merged.pop(key, None)
                continue
            changed = self._value(merged.get(key), value, node, key)
            if changed is None:
                merged.pop(key, None)
            else:
                merged[key] = changed
        for key, value in patch.items():
            if key[:1] == "$" and key.startswith(DELETE_PREFIX):
                listed = key.removeprefix(DELETE_PREFIX)
                _delete_primitives(merged, listed, value)
                self._count(len(merged.get(listed) or ()))
        return merged

    def _value(self, live: Any, value: Any, parent: Node | None, key: str) -> Any:
        """Return the merged value under `key` of a `parent`, or None to remove it."""
        if type(value) is dict:
            node, field = _child(parent, key)
            replaced = type(live) is not dict or (field is not None and "replace" in field.patch_strategies)
            return self.merged({} if replaced else live, value, node)
        if type(value) is list:
            node, field = _child(parent, key)
            return self._list(live if type(live) is list else [], value, node, field)
        return value

    def _list(self, live: list[Any], patch: list[Any], node: Node | None, field: Field | None) -> list[Any]:
        """Return a list: merged by key, merged as a set, or replaced."""
        if field is None or "merge" not in field.patch_strategies or not isinstance(node, ListSchema):
            return [item for item in patch if not (type(item) is dict and item.keys() == {DIRECTIVE})]
        if not field.patch_merge_key:
            return self._set(live, patch)
        return self._elements(live, patch, node.element, field.patch_merge_key)

    def _set(self, live: list[Any], patch: list[Any]) -> list[Any]:
        """Return the union of two lists of primitives, in order of first appearance."""
        if any(type(item) is dict or type(item) is list for item in patch):
            raise BadRequest(_BAD_PRIMITIVES)
        self._count(len(live))
        return list(dict.fromkeys([*live, *patch]))

    def _elements(self, live: list[Any], patch: list[Any], element: Node, key: str) -> list[Any]:
        """Merge lists of maps by `key`: existing elements merge in place, new ones are appended."""
        changes: list[Map] = []
        deleted: set[Any] = set()
        replaced = False
        for item in patch:
            if type(item) is not dict:
                raise BadRequest(f"expected elements with merge key {key}, got {go_plain(item)}")
            directive = item.get(DIRECTIVE)
            if directive == "replace":
                replaced = True
            elif directive == "delete":
                deleted.add(_key_of(item, key))
            elif directive is None or directive == "merge":
                changes.append(item)
            else:
                raise _unknown_directive(directive, item)
        if replaced:
            live = []
        self._count(len(live))
        merged = [item for item in live if item.get(key) not in deleted] if deleted else list(live)
        places: dict[Any, int] = {}
        for index in range(len(merged) - 1, -1, -1):
            places[merged[index].get(key)] = index
        for item in changes:
            place = places.setdefault(_key_of(item, key), len(merged))
            if place == len(merged):
                merged.append({})
            merged[place] = self.merged(merged[place], item, element)
        return merged

    def _ordered_lists(self, merged: Map, patch: Map, node: Node | None) -> set[str]:
        """Merge the lists with a `$setElementOrder` directive into `merged`; returns their keys."""
        done: set[str] = set()
        for name, order in patch.items():
            if name[:1] != "$" or not name.startswith(ORDER_PREFIX):
                continue
            key = name.removeprefix(ORDER_PREFIX)
            changes, live = patch.get(key), merged.get(key)
            if type(order) is not list:
                raise BadRequest(_BAD_ORDER)
            if changes is None and (live is None or key in patch):
                continue  # nothing to order, or deleted
            if changes is not None and type(changes) is not list:
                raise BadRequest(_BAD_ORDER)
            merged[key] = self._ordered(live if type(live) is list else [], changes or [], order, *_child(node, key))
            done.add(key)
        return done

    def _ordered(
        self, live: list[Any], patch: list[Any], order: list[Any], node: Node | None, field: Field | None
    ) -> list[Any]:
        """Return the merged list in the order of the directive."""
        merge_key = field.patch_merge_key if field is not None else ""
        if field is None or "merge" not in field.patch_strategies:
            return self._list(live, patch, node, field) if patch else live
        self._count(len(live))
        wanted = _identities(order, merge_key)
        kept = [item for item in patch if type(item) is not dict or DIRECTIVE not in item]
        if wanted and kept and not is_subsequence(_identities(kept, merge_key), wanted):
            raise BadRequest(
                f"The order in patch list:\n{go_plain(patch)}\n doesn't match {ORDER_PREFIX[:-1]} list:\n"
                f"{go_plain(order)}\n"
            )
        merged = self._list(live, patch, node, field) if patch else live
        return in_order(merged, wanted, live, lambda item: item.get(merge_key) if merge_key else item)


def _child(parent: Node | None, key: str) -> tuple[Node | None, Field | None]:
    """Return the node under `key` of a parent, and its field in a struct; None if unknown."""
    if isinstance(parent, EitherSchema):
        parent = parent.schema
    if isinstance(parent, StructSchema):
        field = parent.keys.get(key)
        return (field.node, field) if field is not None else (None, None)
    return (parent.value, None) if isinstance(parent, MapSchema) else (None, None)


def _key_of(item: Map, key: str) -> Any:
    """Return the value of an element's merge key. Raises BadRequest (400) if it is missing or not a scalar."""
    value = item.get(key)
    if value is None or type(value) is dict or type(value) is list:
        raise BadRequest(f"map: {go_plain(item)} does not contain declared merge key: {key}")
    return value


def _retained(live: Map, patch: Map) -> Map:
    """Return the members of the live map that `$retainKeys` keeps. Raises BadRequest (400)."""
    kept = patch[RETAIN_KEYS]
    if type(kept) is not list or not all(type(key) is str for key in kept):
        raise BadRequest(_BAD_RETAIN_KEYS)
    kept = frozenset(kept)
    for key, value in patch.items():
        if value is not None and key not in kept and key not in (DIRECTIVE, RETAIN_KEYS):
            if not key.startswith((DELETE_PREFIX, ORDER_PREFIX)):
                raise BadRequest(_NOT_RETAINED)
    return {key: value for key, value in live.items() if key in kept}


def _identities(items: list[Any], merge_key: str) -> list[Any]:
    """Return the merge keys of elements, or primitives themselves. Raises BadRequest (400) for other elements."""
    if merge_key:
        if not all(type(item) is dict for item in items):
            raise BadRequest(_BAD_ORDER)
        return [_key_of(item, merge_key) for item in items]
    if any(type(item) is dict or type(item) is list for item in items):
        raise BadRequest(_BAD_ORDER)
    return items


def _delete_primitives(merged: Map, key: str, values: Any) -> None:
    """Remove `values` from the list under `key`. Raises BadRequest (400) unless all are primitives."""
    if type(values) is not list or any(type(value) is dict or type(value) is list for value in values):
        raise BadRequest(_BAD_PRIMITIVES)
    live = merged.get(key)
    if live is None:
        return
    if type(live) is not list or any(type(item) is dict for item in live):
        raise BadRequest(_BAD_PRIMITIVES)
    dropped = frozenset(values)
    merged[key] = [item for item in live if item not in dropped]


def _unknown_directive(directive: Any, patch: Map) -> BadRequest:
    return BadRequest(f"unknown patch type: {go_plain(directive)} in map: {go_plain(patch)}")
