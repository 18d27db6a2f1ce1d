"""Schemas inside a definition's schema, each with its path and the restrictions from above.

Codecs bound the depth of what they let in, and the walk keeps its own stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from orchtw.errors import MAX_NAME_CHARACTERS
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.custom.extensions import EITHER, JUNCTORS, TYPE_FIELDS, Extensions, Schema
from orchtw.schema.validation.problems import at

Level = Literal["root", "field", "item", "nested"]

class Path(msgspec.Struct, frozen=True):
    """Path in a definition; its text is only made for a cause."""

    parent: Path | None
    step: str

    def __truediv__(self, step: str) -> Path:
        """Return the path of a member."""
        return Path(self, "." + step)

    def member(self, name: str) -> Path:
        """Return the path of a member whose name is a client's text."""
        return Path(self, f".{shortened(name, MAX_NAME_CHARACTERS)}")

    def inside(self, step: str, key: int | str) -> Path:
        """Return the path of the entry `key` in a member."""
        return Path(self, f".{step}{at(key)}")

    def __str__(self) -> str:
        steps = []
        here: Path | None = self
        while here is not None:
            steps.append(here.step)
            here = here.parent
        return "".join(reversed(steps))


class SchemaNode(msgspec.Struct, frozen=True, kw_only=True):
    """Node of a schema.

    `level` says what it describes: the object, a member or an element; or that it stands in a condition on such
    (allOf, anyOf, oneOf, not). `in_metadata`: it describes a part of an object's metadata. `no_defaults`: why
    defaults are not allowed. `spares`: its anyOf may be the two types of a number or text; `spared`: it is one of
    those.
    """

    schema: Schema
    path: Path
    level: Level
    in_metadata: bool = False
    no_defaults: str = ""
    spares: bool = False
    spared: bool = False

    def below(self, schema: Schema, path: Path, level: Level) -> SchemaNode:
        """Return a schema inside this one, with the same restrictions."""
        return SchemaNode(
            schema=schema,
            path=path,
            level="nested" if self.level == "nested" else level,
            in_metadata=self.in_metadata,
            no_defaults=self.no_defaults,
        )


def walk(schema: Schema, path: Path, keys: Extensions) -> Iterator[SchemaNode]:
    """Yield every schema in a schema, itself first."""
    waiting = [SchemaNode(schema=schema, path=path, level="root")]
    while waiting:
        node = waiting.pop()
        yield node
        if len(node.schema) > ("type" in node.schema):  # one that says more than its type
            waiting.extend(_members(node, keys))
            waiting.extend(_conditions(node, keys))
            waiting.extend(_unsupported(node))


def _members(node: SchemaNode, keys: Extensions) -> Iterator[SchemaNode]:
    """Yield the schemas of members and elements."""
    schema, path = node.schema, node.path
    names_itself = node.level == "root" or bool(schema.get(keys.embedded))
    for name, each in (schema.get("properties") or {}).items():
        member = node.below(each, path.inside("properties", name), "field")
        if names_itself and name in TYPE_FIELDS:
            no_defaults = f"in top-level {name}" if node.level == "root" else node.no_defaults
            member = msgspec.structs.replace(member, in_metadata=True, no_defaults=no_defaults)
        yield member
    if isinstance(more := schema.get("additionalProperties"), dict):
        member = node.below(more, path / "additionalProperties", "field")
        if node.in_metadata:
            member = msgspec.structs.replace(
                member, no_defaults="inside additionalProperties applying to object metadata"
            )
        yield member
    if isinstance(items := schema.get("items"), dict):
        yield node.below(items, path / "items", "item")


def _conditions(node: SchemaNode, keys: Extensions) -> Iterator[SchemaNode]:
    """Yield the schemas in allOf, anyOf, oneOf and not."""
    schema, path = node.schema, node.path
    either = schema.get("anyOf") == EITHER
    free = node.level != "nested" and bool(schema.get(keys.int_or_string))
    for key in JUNCTORS:
        for index, each in enumerate(schema.get(key) or ()):
            spared = either and key == "anyOf" and (free or node.spares)
            spares = free and not either and key == "allOf" and index == 0
            found = node.below(each, path.inside(key, index), "nested")
            yield msgspec.structs.replace(found, spared=spared, spares=spares) if spared or spares else found
    if (denied := schema.get("not")) is not None:
        yield node.below(denied, path / "not", "nested")


def _unsupported(node: SchemaNode) -> Iterator[SchemaNode]:
    """Yield the schemas under keywords that are refused anyway."""
    schema, path = node.schema, node.path
    for key in ("definitions", "patternProperties", "dependencies"):
        for name, each in (schema.get(key) or {}).items():
            if isinstance(each, dict):
                yield node.below(each, path.inside(key, name), "nested")
    if isinstance(items := schema.get("items"), list):
        for index, each in enumerate(items):
            yield node.below(each, path.inside("items", index), "nested")
