"""Fixtures of the merge tests: a type with one of every shape, and hypothesis strategies of its objects and sets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from orchtw.apply.field_set import FieldSet
from orchtw.apply.merge_type import MapType, Types
from orchtw.apply.path_element import FieldName, Key, ListIndex, PathElement, Value
from orchtw.naming.naming import Naming
from tests.apply.openapi_types import node_of
from tests.properties import examples

QUICK = examples(60)

COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "box": {"type": "object", "properties": {"width": {"type": "integer"}, "counts": COUNTS}},
        "items": {
            "type": "array",
            "x-orch-list-type": "map",
            "x-orch-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "note": {"type": "string"},
                    "counts": COUNTS,
                },
            },
        },
        "tags": {"type": "array", "x-orch-list-type": "set", "items": {"type": "string"}},
        "args": {"type": "array", "items": {"type": "string"}},
        "ref": {"type": "object", "x-orch-map-type": "atomic", "properties": {"name": {"type": "string"}}},
        "free": {"type": "object", "x-orch-preserve-unknown-fields": True},
    },
}


def type_of_schema(schema: dict[str, Any] | None) -> MapType:
    """The merge type of an OpenAPI schema."""
    return Types().root(node_of(schema, Naming.orch()))


TYPE = type_of_schema(SCHEMA)

_numbers = st.integers(0, 2)
_words = st.sampled_from(["a", "b", "c"])
_counts = st.dictionaries(_words, _numbers, min_size=1, max_size=3)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


_item = st.fixed_dictionaries(
    {"port": st.integers(1, 3)},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "note": _words, "counts": _counts},
)
_items = st.lists(_item, min_size=1, max_size=3, unique_by=lambda item: (item["port"], item.get("protocol", "TCP")))

PARTS: dict[str, st.SearchStrategy[Any]] = {
    "size": _numbers,
    "box": _optional(width=_numbers, counts=_counts).filter(bool),
    "items": _items,
    "tags": st.lists(_words, min_size=1, max_size=3, unique=True),
    "args": st.lists(_words, min_size=1, max_size=2),
    "ref": st.fixed_dictionaries({"name": _words}),
    "free": st.dictionaries(_words, st.one_of(_numbers, _counts, st.lists(_numbers, min_size=1)), min_size=1),
}
OBJECTS = _optional(**PARTS)

_elements: st.SearchStrategy[PathElement] = st.one_of(
    st.builds(FieldName, st.sampled_from(["a", "b", "c.d/e", ""])),
    st.builds(lambda name, port: Key.of(name=name, port=port), st.sampled_from(["x", 'q"<']), _numbers),
    st.builds(Value, st.one_of(_numbers, _words, st.booleans())),
    st.builds(ListIndex, _numbers),
)
SETS = st.builds(
    lambda paths: FieldSet.of(*paths), st.lists(st.lists(_elements, min_size=1, max_size=4).map(tuple), max_size=8)
)
