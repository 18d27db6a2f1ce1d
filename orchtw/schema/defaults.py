"""Defaulting: fills absent fields with the defaults that the schema declares, by functions generated from it.

A field without a pointer is absent when it is zero (reference KIND-14). A default that depends on other fields is not
declared; it belongs to the kind's strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from orchtw.schema.codec.generated import Functions, Writer
from orchtw.schema.nodes import MISSING, Field, ListSchema, MapSchema, Node, StructSchema

_TYPE_KEYS = ("kind", "apiVersion")  # of a kind: before all fields


class Defaults:
    """Defaulting functions, compiled struct by struct on first use; `normalise` makes declared values canonical."""

    def __init__(self, normalise: Functions) -> None:
        self._normalise = normalise
        self._functions = Functions(self._write, {"reorder": _reorder})
        self._has_defaults: dict[StructSchema, bool] = {}
        self._lock = RLock()  # another thread must not take a preliminary answer for the final one

    def apply(self, schema: StructSchema, obj: dict[str, Any]) -> None:
        """Fill the canonical dict `obj` in place; keys stay in emission order."""
        if self._concerns(schema):
            self._functions[schema](obj)

    def __getitem__(self, schema: StructSchema) -> Callable[[dict[str, Any]], None]:
        """Return the function that fills a canonical dict of `schema` in place."""
        return self._functions[schema] if self._concerns(schema) else _nothing

    def _concerns(self, node: Node) -> bool:
        """Report whether anything in or below `node` has a default."""
        struct = _struct_of(node)
        if struct is None:
            return False
        with self._lock:
            return self._struct_concerns(struct)

    def _struct_concerns(self, struct: StructSchema) -> bool:
        known = self._has_defaults.get(struct)
        if known is None:
            self._has_defaults[struct] = False  # preliminary: the struct may contain itself
            known = any(field.default is not MISSING or self._concerns(field.node) for field in struct.fields)
            self._has_defaults[struct] = known
        return known

    def _write(self, schema: StructSchema, w: Writer) -> None:
        own = [field for field in schema.keys.values() if field.default is not MISSING]
        with w.block(f"def {w.name}(d):"):
            w("pass" if not own else "filled = False")
            for field in own:
                with w.block(f"if {_is_absent(field)}:"):
                    w(f"d[{field.name!r}] = {self._literal(field, w)}", "filled = True")
            if own:
                with w.block("if filled:"):
                    w(f"reorder(d, {(*(key for key in _TYPE_KEYS if key not in schema.keys), *schema.keys)})")
            for field in schema.keys.values():
                if self._concerns(field.node):
                    _write_descent(field, w)

    def _literal(self, field: Field, w: Writer) -> str:
        """Return the source of a fresh canonical value: the field's default."""
        holder = StructSchema("default", [field])
        return repr(self._normalise[holder]({field.name: field.default}).get(field.name))


def _is_absent(field: Field) -> str:
    key = repr(field.name)
    return (
        f"{key} not in d"
        + ("" if field.pointer else f" or not d[{key}]")
        + (f" or d[{key}] is None" if field.pointer and not field.omitempty else "")
    )


def _struct_of(node: Node) -> StructSchema | None:
    if isinstance(node, ListSchema):
        return _struct_of(node.element)
    if isinstance(node, MapSchema):
        return _struct_of(node.value)
    return node if isinstance(node, StructSchema) else None


def _write_descent(field: Field, w: Writer) -> None:
    key = repr(field.name)
    struct = _struct_of(field.node)
    assert struct is not None
    function = w.function(struct)
    with w.block(f"if {key} in d and d[{key}] is not None:"):
        if isinstance(field.node, StructSchema):
            w(f"{function}(d[{key}])")
        else:
            values = f"d[{key}].values()" if isinstance(field.node, MapSchema) else f"d[{key}]"
            with w.block(f"for x in {values}:"):
                w(f"{function}(x)")


def _reorder(obj: dict[str, Any], order: tuple[str, ...]) -> None:
    """Put the keys into `order`, in place; keys that are not in it stay behind them."""
    values = {key: obj[key] for key in order if key in obj}
    if len(values) < len(obj):
        values.update(obj)
    obj.clear()
    obj.update(values)


def _nothing(_: dict[str, Any]) -> None:
    return None
