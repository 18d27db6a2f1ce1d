"""Order of causes: that of the fields, regardless of the check that found them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from orchtw.errors import Cause
from orchtw.schema.nodes import ListSchema, MapSchema, Node, StructSchema

_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def in_field_order(schema: StructSchema, causes: Sequence[Cause]) -> list[Cause]:
    """Sort `causes`, whose fields are paths in a value of `schema`, in emission order; the sort is stable.

    Unknown fields come after the known ones.
    """
    return sorted(causes, key=lambda cause: tuple(_places(schema, cause.field)))


def _places(node: Node | None, path: str) -> Iterator[tuple[int, str]]:
    """Yield for each step of the path its position among its siblings, and its text where it has none."""
    for found in _STEP.finditer(path):
        inside, name = found.groups()
        if name is None:
            yield (int(inside), "") if inside.isdecimal() else (0, inside)
            if isinstance(node, ListSchema):
                node = node.element
            else:
                node = node.value if isinstance(node, MapSchema) else None
        else:
            keys = node.keys if isinstance(node, StructSchema) else {}
            field = keys.get(name)
            yield (len(keys), name) if field is None else (list(keys).index(name), "")
            node = None if field is None else field.node
