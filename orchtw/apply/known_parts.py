"""Cache of field sets by the content of object parts, independent of the writer (reference APPLY-18).

Most large objects are made from templates, and clients apply the same manifests repeatedly, so the same spec occurs
in many writes. The fields of new objects and of applied configurations are cached by it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final, Generic, TypeVar

import orjson

from orchtw.apply import field_tree
from orchtw.apply.field_tree import Tree
from orchtw.apply.known_sets import LONGEST_TEXT, known
from orchtw.apply.managed_fields import UNTRACKED
from orchtw.apply.merge_type import MapType
from orchtw.apply.type_check import fits
from orchtw.apply.typed import claimed, gained
from orchtw.schema.values import in_order
from orchtw.wire.objects import Object

T = TypeVar("T")

SHORTEST, LONGEST = 512, LONGEST_TEXT
"""Size of cached parts in bytes: shorter ones are as quick to walk, longer ones are rare."""

_OWNERS: Final = count()

_TEXTS: Final = frozenset({"name", "generateName", "namespace"})
_MAPS: Final = frozenset({"labels", "annotations"})
_UNSET: Final = "creationTimestamp"
"""Member of metadata that a new object has as null."""


class _Parts(Generic[T]):
    """Cached results of `find` for the parts of objects: their top-level structs by text, metadata by its keys.

    A result is kept when its part comes a second time, so that unlike objects do not fill the cache. `find` is always
    the same; it is passed with each call because storing it would create a reference cycle.
    """

    def __init__(self, kind: MapType) -> None:
        self._kind = kind
        self._owner = next(_OWNERS)

    def of(self, obj: Object, find: Callable[[Object], T]) -> tuple[list[T], Object]:
        """Return the result for each part, and the rest of the object, which is not cached."""
        fields, found, rest = self._kind.fields, [], {}
        for key, part in obj.items():
            kind = fields[key][1] if key in fields else None
            if type(part) is dict and isinstance(kind, MapType) and kind.fields:
                found.append(self._metadata(part, find) if key == "metadata" else self._part(key, part, find))
            else:
                rest[key] = part
        return found, rest

    def _part(self, key: str, part: Any, find: Callable[[Object], T]) -> T:
        try:
            text = orjson.dumps(part)
        except TypeError:  # a lone surrogate, or nested too deeply
            text = b""
        if not SHORTEST <= len(text) <= LONGEST:
            return find({key: part})
        return known((self._owner, key), text, lambda: find({key: part}), at_once=False)

    def _metadata(self, meta: Object, find: Callable[[Object], T]) -> T:
        outline = outline_of(meta)
        if outline is None:
            return find({"metadata": meta})
        return known((self._owner, "metadata"), outline, lambda: find({"metadata": meta}), at_once=False)


def outline_of(meta: Object) -> bytes | None:
    """Return all of metadata that its fields depend on, as a text; None: it has none.

    These are its keys and those of its labels and annotations, and the values of parts such as ownerReferences.
    """
    outline: list[str | list[str] | Object] = []
    for key, part in meta.items():
        if key in _MAPS and type(part) is dict and {*map(type, part.values())} == {str}:
            outline.append([key, *part])
        elif (type(part) is str and key in _TEXTS) or (part is None and key == _UNSET):
            outline.append(key)
        else:
            outline.append({key: part})
    try:
        return orjson.dumps(outline)
    except TypeError:  # a lone surrogate, or nested too deeply
        return None


class Additions:
    """Fields of new objects that differ from `empty`, without untracked and `ignored` ones.

    `empty` has neither names nor labels nor annotations.
    """

    def __init__(self, kind: MapType, empty: Object, ignored: Tree) -> None:
        self._kind = kind
        self._empty = empty
        self._ignored = ignored
        self._parts = _Parts[Tree](kind)

    def of(self, new: Object) -> Tree:
        """Return the root of the fields of `new`, which has no managedFields, in the order of FieldsV1."""
        trees, rest = self._parts.of(new, self._found)
        fields = _joined([*trees, self._found(rest)])
        return {step: fields[step] for step in in_order(fields)}

    def _found(self, parts: Object) -> Tree:
        empty = {key: self._empty[key] for key in parts if key in self._empty}
        fields = field_tree.difference(gained(self._kind, empty, parts), UNTRACKED.tree)
        return field_tree.recursive_difference(fields, self._ignored)


class Claims:
    """Fields claimed by applied configurations of a type (see `claimed`)."""

    def __init__(self, kind: MapType) -> None:
        self._kind = kind
        self._parts = _Parts[Tree | None](kind)

    def of(self, applied: Object) -> Tree | None:
        """Return the root of the claimed fields, or None for a type mismatch. May raise RecursionError."""
        found, rest = self._parts.of(applied, self._found)
        trees = [tree for tree in (*found, self._found(rest)) if tree is not None]
        return _joined(trees) if len(trees) > len(found) else None

    def _found(self, parts: Object) -> Tree | None:
        return claimed(self._kind, parts) if fits(self._kind, parts) else None


def _joined(trees: list[Tree]) -> Tree:
    """Join roots that have no step in common."""
    return {step: tree for root in trees for step, tree in root.items()}
