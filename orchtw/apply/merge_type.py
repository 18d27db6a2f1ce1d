"""Merge types of schema nodes: leaves, maps with or without declared fields, lists by the identity of their items.

Structs and maps are the same type: an object whose keys have types. Atomic values are leaves for a merge, and keep
their structure only for validation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchtw.apply.path_element import keys_text, single_key_text, value_text
from orchtw.schema.nodes import (
    MISSING,
    EitherSchema,
    Field,
    ListSchema,
    MapSchema,
    Node,
    NodeForm,
    Scalar,
    StructSchema,
)

LEAF_SHAPE, MAP_SHAPE, LIST_SHAPE, UNTYPED_SHAPE = range(4)

_NO_DEFAULTS: dict[str, Any] = {}


class KeylessItem(ValueError):
    """Error: a list item has no valid key or value to identify it; the text is the reason."""


class Type:
    """Merge semantics of a schema node.

    `shape` is how a merge treats its values. `loose`: it may contain untyped values, in which Python's equality does
    not distinguish numbers and booleans.
    """

    __slots__ = ("loose", "shape")
    loose: bool
    shape: int

    def __init__(self, shape: int) -> None:
        self.shape = shape
        self.loose = shape == UNTYPED_SHAPE


class ScalarType(Type):
    """Scalar; `expected` names its type in errors, "" for any scalar. `accepts` are its Python types."""

    __slots__ = ("accepts", "expected")

    def __init__(self, expected: str = "", accepts: tuple[type, ...] = ()) -> None:
        super().__init__(LEAF_SHAPE)
        self.expected = expected
        self.accepts = accepts


STRING: Final = ScalarType("string", (str,))
NUMBER: Final = ScalarType("numeric (int or float)", (int, float))
BOOLEAN: Final = ScalarType("boolean", (bool,))
ANY_SCALAR: Final = ScalarType()
UNTYPED: Final = Type(UNTYPED_SHAPE)
"""Type of data without schema: objects merge key by key, everything else is replaced (reference APPLY-34)."""


class MapType(Type):
    """Object. `fields` maps declared keys to their step and type; other keys have the type `element`, if any."""

    __slots__ = ("_load", "element", "fields", "loose")
    fields: dict[str, tuple[str, Type]]
    element: Type | None

    def __init__(
        self, load: Callable[[], dict[str, tuple[str, Type]]], element: Type | None, *, atomic: bool = False
    ) -> None:
        self.shape = LEAF_SHAPE if atomic else MAP_SHAPE
        self.element = element
        self._load = load

    def __getattr__(self, name: str) -> Any:
        """Compute `fields` and `loose` on first use, as a struct may contain itself."""
        if name == "fields":
            self.fields = self._load()
            return self.fields
        if name == "loose":
            self.loose = _holds_untyped(self)
            return self.loose
        raise AttributeError(name)


class ListType(Type):
    """List. Items are identified by `keys`, with their `defaults`; without keys by value in sets, else not at all."""

    __slots__ = ("defaults", "element", "keys", "loose")

    def __init__(
        self, element: Type, *, atomic: bool, keys: tuple[str, ...] = (), defaults: dict[str, Any] = _NO_DEFAULTS
    ) -> None:
        self.shape = LEAF_SHAPE if atomic else LIST_SHAPE
        self.element = element
        self.keys = tuple(sorted(keys))
        self.defaults = defaults

    def __getattr__(self, name: str) -> Any:
        """Compute `loose` on first use."""
        if name == "loose":
            self.loose = _holds_untyped(self)
            return self.loose
        raise AttributeError(name)

    def step(self, item: Any) -> str:
        """Return the step to an item. Raises KeylessItem."""
        if not self.keys:
            return _set_step(item)
        if type(item) is not dict:
            kind = "a null element" if item is None else "non-map elements"
            raise KeylessItem(f"associative list with keys may not have {kind}")
        if len(self.keys) == 1:  # most lists
            value = item.get(self.keys[0])
            if type(value) is str:
                return single_key_text(self.keys[0], value)
        values = []
        for key in self.keys:
            value = item[key] if key in item else self.defaults.get(key)
            if value is None:
                raise KeylessItem(
                    f'associative list with keys has an element that omits key field "{key}" '
                    "(and doesn't have default value)"
                )
            values.append(value)
        return keys_text(self.keys, values)


def _set_step(item: Any) -> str:
    if type(item) is dict:
        raise KeylessItem("associative list without keys has an element that's a map type")
    if type(item) is list:
        raise KeylessItem("not supported: associative list with lists as elements")
    if item is None:
        raise KeylessItem("associative list without keys has an element that's an explicit null")
    return "v:" + value_text(item)


UNTYPED_OBJECT: Final = MapType(dict, UNTYPED)
"""Type of an object without schema."""


def of_value(value: Any) -> Type:
    """Return the type of an untyped value, deduced from the value."""
    return UNTYPED_OBJECT if type(value) is dict else ANY_SCALAR


def _holds_untyped(start: Type) -> bool:
    seen: set[int] = set()
    waiting: list[Type] = [start]
    while waiting:
        found = waiting.pop()
        if found is UNTYPED:
            return True
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, MapType):
            waiting.extend(part for _, part in found.fields.values())
            if found.element is not None:
                waiting.append(found.element)
        elif isinstance(found, ListType):
            waiting.append(found.element)
    return False


_SCALARS: dict[Node, Type] = {
    Scalar.STRING: STRING,
    Scalar.BOOL: BOOLEAN,
    Scalar.INT32: NUMBER,
    Scalar.INT64: NUMBER,
    Scalar.DOUBLE: NUMBER,
    Scalar.BYTES: ANY_SCALAR,
    NodeForm.TIME: ANY_SCALAR,
    NodeForm.MICRO_TIME: ANY_SCALAR,
    NodeForm.DURATION: ANY_SCALAR,
    NodeForm.QUANTITY: ANY_SCALAR,
    NodeForm.INT_OR_STRING: ANY_SCALAR,
    NodeForm.ANY: UNTYPED,
    NodeForm.OBJECT: UNTYPED,
    NodeForm.STRINGS: ListType(STRING, atomic=True),
}
_TYPE_META = {"apiVersion": ("f:apiVersion", STRING), "kind": ("f:kind", STRING)}


class Types:
    """Compiler of schema nodes to merge types, which are cached."""

    def __init__(self) -> None:
        self._structs: dict[StructSchema, MapType] = {}
        self._roots: dict[StructSchema, MapType] = {}

    def root(self, node: Node) -> MapType:
        """Return the type of whole objects, with apiVersion and kind; UNTYPED_OBJECT unless the node is a struct."""
        if not isinstance(node, StructSchema):
            return UNTYPED_OBJECT
        found = self._roots.get(node)
        if found is None:
            struct = self._struct(node)
            found = self._roots[node] = MapType(lambda: {**_TYPE_META, **struct.fields}, struct.element)
        return found

    def of(self, node: Node) -> Type:
        """Return the type of a node."""
        if isinstance(node, StructSchema):
            return self._struct(node)
        if isinstance(node, ListSchema):
            return self._list(node)
        if isinstance(node, MapSchema):
            return MapType(dict, self.of(node.value), atomic=node.map_type == "atomic")
        return UNTYPED if isinstance(node, EitherSchema) else _SCALARS[node]

    def _struct(self, node: StructSchema) -> MapType:
        found = self._structs.get(node)
        if found is None:
            element = None if node.unknown is None else self.of(node.unknown)
            found = MapType(lambda: self._fields(node), element, atomic=node.atomic)
            self._structs[node] = found
        return found

    def _fields(self, node: StructSchema) -> dict[str, tuple[str, Type]]:
        """Return the fields. Embedded objects may have apiVersion and kind, as many volumeClaimTemplates do."""
        fields = {key: ("f:" + key, self._field(field)) for key, field in node.keys.items()}
        return {**_TYPE_META, **fields} if node.kind else fields

    def _field(self, field: Field) -> Type:
        return self.of(field.node)

    def _list(self, node: ListSchema) -> ListType:
        element = self.of(node.element)
        if node.list_type not in ("set", "map"):
            return ListType(element, atomic=True)
        return ListType(element, atomic=False, keys=node.map_keys, defaults=_key_defaults(node))


def _key_defaults(node: ListSchema) -> dict[str, Any]:
    if not isinstance(node.element, StructSchema):
        return {}
    fields = node.element.keys
    return {
        key: fields[key].default for key in node.map_keys if key in fields and fields[key].default is not MISSING
    }
