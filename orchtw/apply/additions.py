"""The fields of a new object that its creator comes to own (reference APPLY-18).

Most large objects are made from templates: one specification comes again and again, under other names. What its
fields are is found out once.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.apply import field_tree
from orchtw.apply.field_tree import Tree
from orchtw.apply.managed_fields import UNTRACKED
from orchtw.apply.merge_type import MapType
from orchtw.apply.typed import compare
from orchtw.objects import Object

REMEMBERED: Final = 256
"""Parts of one kind, with their fields some 10 MB at worst; when there are as many, it begins anew."""

SHORTEST, LONGEST = 512, 8192
"""Bytes of a part that is remembered: of a shorter one the fields are found as quickly, longer ones are rare."""


class Additions:
    """What objects of a type have that `empty` has not, without what nobody owns and what is `ignored`."""

    def __init__(self, kind: MapType, empty: Object, ignored: Tree) -> None:
        self._kind = kind
        self._empty = empty
        self._ignored = ignored
        self._known: dict[tuple[str, bytes], Tree] = {}

    def of(self, new: Object) -> Tree:
        """The root of the fields of an object without its managed fields."""
        fields = self._kind.fields
        tree: Tree = {}
        rest = {}
        for key, part in new.items():
            kind = fields[key][1] if key in fields else None
            if key != "metadata" and type(part) is dict and isinstance(kind, MapType) and kind.fields:
                tree |= self._part(key, part)
            else:
                rest[key] = part
        return tree | self._found(rest)

    def _part(self, key: str, part: Any) -> Tree:
        """The fields under one of the top keys."""
        try:
            text = orjson.dumps(part)
        except TypeError:  # half a character, say, which has no form in UTF-8
            text = b""
        if not SHORTEST <= len(text) <= LONGEST:
            return self._found({key: part})
        found = self._known.get((key, text))
        if found is None:
            found = self._found({key: part})
            if len(self._known) >= REMEMBERED:
                self._known = {}
            self._known[key, text] = found
        return found

    def _found(self, parts: Object) -> Tree:
        empty = {key: self._empty[key] for key in parts if key in self._empty}
        changes = compare(self._kind, empty, parts)
        gained = field_tree.difference(field_tree.union(changes.modified, changes.added), UNTRACKED.tree)
        return field_tree.recursive_difference(gained, self._ignored)
