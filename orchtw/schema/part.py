"""Parts of structs: to read a few fields of an encoded object is to decode it by a schema that has no others."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from orchtw.schema.nodes import Field, StructSchema


def part(schema: StructSchema, paths: Iterable[str]) -> StructSchema:
    """A struct with nothing of `schema` but what is at `paths`, such as "metadata.labels", and below them.

    It is no object of its own: kind and apiVersion are not in it. Paths that the struct does not have are left out.
    """
    wanted: dict[str, set[str]] = {}
    for path in paths:
        head, _, rest = path.partition(".")
        wanted.setdefault(head, set()).add(rest)
    return StructSchema(schema.name, list(_chosen(schema, wanted)))


def _chosen(schema: StructSchema, wanted: dict[str, set[str]]) -> Iterable[Field]:
    for field in schema.fields:
        node = field.node
        if field.inline and isinstance(node, StructSchema):
            inner = list(_chosen(node, wanted))
            if inner:
                yield attrs.evolve(field, node=StructSchema(node.name, inner))
        elif field.name in wanted:
            rests = wanted[field.name]
            if isinstance(node, StructSchema) and "" not in rests:
                yield attrs.evolve(field, node=part(node, rests))
            else:
                yield field
