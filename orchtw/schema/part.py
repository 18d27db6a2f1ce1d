"""Parts of structs: schemas with few fields, to decode only these of an encoded object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from orchtw.schema.nodes import Field, StructSchema


class Parts:
    """Ensurer of parts; equal parts of one struct are one schema, so that their functions are compiled once.

    It holds its structs for as long as it lives.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[StructSchema, frozenset[str]], StructSchema] = {}

    def of(self, schema: StructSchema, paths: Iterable[str]) -> StructSchema:
        """Return a struct with only the fields of `schema` at `paths`, such as "metadata.labels", and below them.

        Its values are not whole objects: they have no kind and apiVersion. Unknown paths are left out.
        """
        key = schema, frozenset(paths)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._new(schema, key[1])
        return found

    def _new(self, schema: StructSchema, paths: Iterable[str]) -> StructSchema:
        wanted: dict[str, set[str]] = {}
        for path in paths:
            head, _, rest = path.partition(".")
            wanted.setdefault(head, set()).add(rest)
        return StructSchema(schema.name, list(self._chosen(schema, wanted)))

    def _chosen(self, schema: StructSchema, wanted: Mapping[str, set[str]]) -> Iterator[Field]:
        for field in schema.fields:
            node = field.node
            if field.inline and isinstance(node, StructSchema):
                inner = list(self._chosen(node, wanted))
                if inner:
                    yield attrs.evolve(field, node=StructSchema(node.name, inner))
            elif field.name in wanted:
                rests = wanted[field.name]
                if isinstance(node, StructSchema) and "" not in rests:
                    yield attrs.evolve(field, node=self.of(node, rests))
                else:
                    yield field
