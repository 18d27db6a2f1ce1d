"""Sets of field paths and their FieldsV1 encoding (reference APPLY-2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from orchtw.apply import field_tree
from orchtw.apply.field_tree import Tree
from orchtw.apply.path_element import FieldName, PathElement, element_text, parse_element, shown
from orchtw.wire.json_values import loads

Path = tuple[PathElement, ...]


class FieldSet:
    """Immutable set of paths.

    Membership of a path does not imply that of paths below or above it. `tree` is the representation used by the
    typed walks.
    """

    __slots__ = ("tree",)

    def __init__(self, tree: Tree | None = None) -> None:
        self.tree = tree if tree is not None else field_tree.LEAF

    @classmethod
    def of(cls, *paths: tuple[PathElement | str, ...]) -> FieldSet:
        """Return the set of these paths; a bare string is a field name."""
        tree: Tree = {}
        for path in paths:
            tree = field_tree.insert(tree, _steps(path))
        return cls(tree)

    @classmethod
    def named(cls, *dotted: str) -> FieldSet:
        """Return the set of fields given by dotted names such as `metadata.labels`."""
        return cls.of(*(tuple(path.split(".")) for path in dotted))

    @classmethod
    def decode(cls, fields: bytes) -> FieldSet:
        """Decode FieldsV1 JSON; path elements of unknown kinds are dropped. Raises ValueError."""
        return cls(field_tree.decode(loads(fields)))

    def to_fields(self) -> dict[str, Any]:
        """Return a new FieldsV1 dict with its keys in the reference's order."""
        return field_tree.encode(self.tree)

    def encode(self) -> bytes:
        """Encode as FieldsV1 JSON, byte for byte like the reference."""
        return orjson.dumps(self.to_fields())

    def insert(self, *path: PathElement | str) -> FieldSet:
        """Return the set with a path added."""
        return FieldSet(field_tree.insert(self.tree, _steps(path)))

    def has(self, *path: PathElement | str) -> bool:
        """Report whether the path itself is a member."""
        tree = self.tree
        for step in _steps(path):
            found = tree.get(step)
            if found is None:
                return False
            tree = found
        return bool(path) and field_tree.is_member(tree)

    def union(self, other: FieldSet) -> FieldSet:
        """Return the members of either set."""
        return self._new(field_tree.union(self.tree, other.tree))

    def difference(self, other: FieldSet) -> FieldSet:
        """Return the members of this set that are not in the other; children of a path in `other` stay."""
        return self._new(field_tree.difference(self.tree, other.tree))

    def recursive_difference(self, other: FieldSet) -> FieldSet:
        """Return the members of this set that are neither in the other nor below a path in it."""
        return self._new(field_tree.recursive_difference(self.tree, other.tree))

    def intersection(self, other: FieldSet) -> FieldSet:
        """Return the members of both sets."""
        return self._new(field_tree.intersection(self.tree, other.tree))

    def leaves(self) -> FieldSet:
        """Return the members that have no members below them."""
        return FieldSet(field_tree.leaves(self.tree))

    def texts(self) -> Iterator[str]:
        """Yield every member in the form of messages, such as `.spec.containers[name="c"].image`."""
        for path in field_tree.walk(self.tree):
            yield "".join(map(shown, path))

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __len__(self) -> int:
        return field_tree.size(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.encode())

    def __iter__(self) -> Iterator[Path]:
        for path in field_tree.walk(self.tree):
            yield tuple(element for element in map(parse_element, path) if element is not None)

    def __repr__(self) -> str:
        return f"FieldSet({' '.join(self.texts())})"

    def _new(self, tree: Tree) -> FieldSet:
        return self if tree is self.tree else FieldSet(tree)


def _steps(path: tuple[PathElement | str, ...]) -> tuple[str, ...]:
    return tuple(element_text(FieldName(part) if isinstance(part, str) else part) for part in path)


NOTHING = FieldSet()
"""The empty set."""
