"""Cache of field sets by the content of object parts, independent of the writer (reference APPLY-18).

Most large objects are made from templates, and clients apply the same manifests again and again: one specification
comes under other names, or once more. The fields of new objects and those that applied ones name are kept by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import orjson

from orchtw.apply import field_tree
from orchtw.apply.field_tree import Tree
from orchtw.apply.managed_fields import UNTRACKED
from orchtw.apply.merge_type import MapType
from orchtw.apply.type_check import fits
from orchtw.apply.typed import claimed, compare
from orchtw.wire.objects import Object

T = TypeVar("T")

REMEMBERED: Final = 256
"""Parts of one kind, with their fields some 10 MB at worst; when there are as many, it begins anew."""

SHORTEST, LONGEST = 512, 8192
"""Bytes of a part that is remembered: of a shorter one the fields are found as quickly, longer ones are rare."""


class _Parts(Generic[T]):
    """Results of `find` for the parts of objects of a type: those under top-level keys, without metadata.

    `find` is given with each call, always the same: a kept method would make a reference cycle with its owner.
    """

    def __init__(self, kind: MapType) -> None:
        self._kind = kind
        self._known: dict[tuple[str, bytes], T] = {}

    def of(self, obj: Object, find: Callable[[Object], T]) -> tuple[list[T], Object]:
        """Return the results for each part, and the rest of the object, which has to be examined each time."""
        fields, found, rest = self._kind.fields, [], {}
        for key, part in obj.items():
            kind = fields[key][1] if key in fields else None
            if key != "metadata" and type(part) is dict and isinstance(kind, MapType) and kind.fields:
                found.append(self._part(key, part, find))
            else:
                rest[key] = part
        return found, rest

    def _part(self, key: str, part: Any, find: Callable[[Object], T]) -> T:
        try:
            text = orjson.dumps(part)
        except TypeError:  # half a character, say, which has no form in UTF-8, or too deep
            text = b""
        if not SHORTEST <= len(text) <= LONGEST:
            return find({key: part})
        if (key, text) in (known := self._known):
            return known[key, text]
        found = find({key: part})
        if len(known) >= REMEMBERED:
            known = self._known = {}
        known[key, text] = found
        return found


class Additions:
    """Fields that objects of a type have and `empty` has not, without unowned and `ignored` ones."""

    def __init__(self, kind: MapType, empty: Object, ignored: Tree) -> None:
        self._kind = kind
        self._empty = empty
        self._ignored = ignored
        self._parts = _Parts[Tree](kind)

    def of(self, new: Object) -> Tree:
        """The root of the fields of an object without its managed fields."""
        trees, rest = self._parts.of(new, self._found)
        return _joined([*trees, self._found(rest)])

    def _found(self, parts: Object) -> Tree:
        empty = {key: self._empty[key] for key in parts if key in self._empty}
        changes = compare(self._kind, empty, parts)
        gained = field_tree.difference(field_tree.union(changes.modified, changes.added), UNTRACKED.tree)
        return field_tree.recursive_difference(gained, self._ignored)


class Claims:
    """Fields that applied objects of a type name (see `claimed`)."""

    def __init__(self, kind: MapType) -> None:
        self._kind = kind
        self._parts = _Parts[Tree | None](kind)

    def of(self, applied: Object) -> Tree | None:
        """The root of the fields; None: the object does not fit its type. May raise RecursionError."""
        found, rest = self._parts.of(applied, self._found)
        trees = [tree for tree in (*found, self._found(rest)) if tree is not None]
        return _joined(trees) if len(trees) > len(found) else None

    def _found(self, parts: Object) -> Tree | None:
        return claimed(self._kind, parts) if fits(self._kind, parts) else None


def _joined(trees: list[Tree]) -> Tree:
    """Of roots that have no step in common."""
    return {step: tree for root in trees for step, tree in root.items()}
