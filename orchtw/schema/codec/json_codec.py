"""JSON-shaped values → canonical dicts, by functions generated from the schema.

Unknown keys are dropped unless the struct accepts any, null counts as absent, keys come out in emission order. A
value that does not fit raises Mismatch with its place (reference OBJ-15).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.schema import values
from orchtw.schema.codec.canonical import absent, is_omitted, is_unbounded, zero
from orchtw.schema.codec.generated import Functions, Writer
from orchtw.schema.codec.mismatch import Mismatch, SchemaError
from orchtw.schema.nodes import (
    Alternative,
    EitherSchema,
    Field,
    ListSchema,
    MapSchema,
    Node,
    NodeForm,
    Scalar,
    StructSchema,
)

_CONVERSIONS: dict[Node, Callable[[Any], Any]] = {
    Scalar.STRING: values.string_value,
    Scalar.BOOL: values.bool_value,
    Scalar.INT32: values.int32_value,
    Scalar.INT64: values.int64_value,
    Scalar.DOUBLE: values.double_value,
    Scalar.BYTES: values.bytes_value,
    NodeForm.TIME: values.time_value,
    NodeForm.MICRO_TIME: values.micro_time_value,
    NodeForm.DURATION: values.duration_value,
    NodeForm.QUANTITY: values.quantity_value,
    NodeForm.INT_OR_STRING: values.int_or_string_value,
    NodeForm.ANY: values.any_value,
    NodeForm.OBJECT: values.object_value,
    NodeForm.STRINGS: values.strings_value,
}


def normalisers() -> Functions:
    """Make one function per struct: JSON-shaped value (None counts as {}) → new canonical dict; raises Mismatch."""
    given = {function.__name__: function for function in _CONVERSIONS.values()}
    more = (values.string_map_value, values.in_order, values.check_depth, either_value, Mismatch, SchemaError)
    return Functions(_write, {**given, **{each.__name__: each for each in more}, "EMPTY": {}})


def either_value(alternative: Alternative, normalise: Callable[[Any], Any], value: Any) -> Any:
    """Normalise a schema object or its alternative; an empty list says nothing and becomes None, as in Go."""
    if type(value) is dict:
        return normalise(value)
    if alternative is Alternative.BOOL and type(value) is bool:
        return value
    if alternative is Alternative.BOOL or type(value) is not list:
        raise Mismatch("an object or " + ("a boolean" if alternative is Alternative.BOOL else "a list"), value)
    if alternative is Alternative.STRINGS:
        return values.strings_value(value) or None
    return [_element(normalise, index, item) for index, item in enumerate(value)] or None


def _element(normalise: Callable[[Any], Any], index: int, item: Any) -> Any:
    try:
        return normalise(item)
    except SchemaError as error:
        raise error.at(f"[{index}]") from None


def _write(schema: StructSchema, w: Writer) -> None:
    with w.block(f"def {w.name}(v):"):
        with w.block("if type(v) is not dict:"):
            with w.block("if v is not None:"):
                w("raise Mismatch('an object', v)")
            w("v = EMPTY")
        w(f"out = {dict(schema.types)!r}", "at = ''", "y = k = None")
        with w.block("try:"):
            w("pass")
            _write_fields(schema, w, guarded=schema.recursive)
            if schema.unknown is not None:
                _write_unknown(schema, schema.unknown, w)
        with w.block("except SchemaError as error:"):
            w("raise error.within(at, y, k) from None")
        w("return out")


def _write_unknown(schema: StructSchema, value: Node, w: Writer) -> None:
    """Write the keys without a field after the others, in alphabetical order; kind and apiVersion are not fields."""
    known = frozenset((*schema.keys, "kind", "apiVersion")) if schema.kind else frozenset(schema.keys)
    with w.block("for k in in_order(v):"):
        with w.block(f"if k not in {w.constant(known)}:"):
            w("i = v[k]", "at = k", f"out[k] = {_part(value, w)}", "at = ''")


def _write_fields(schema: StructSchema, w: Writer, *, guarded: bool) -> None:
    for field in schema.fields:
        if field.inline and isinstance(field.node, StructSchema):
            _write_fields(field.node, w, guarded=guarded)
        elif is_omitted(field):
            _write_omitted(field, w, guarded)
        else:
            _write_always(field, w, guarded)


def _write_omitted(field: Field, w: Writer, guarded: bool) -> None:
    """Write a field that JSON omits when it is absent or zero."""
    key = repr(field.name)
    with w.block(f"if {key} in v:"):
        w(f"x = v[{key}]")
        with w.block("if x is not None:"):
            result = _conversion(field, w, guarded)
            if field.pointer and not isinstance(field.node, NodeForm | EitherSchema):
                w(f"out[{key}] = {result}")
                return
            if result != "x":
                w(f"x = {result}")
            with w.block("if x is not None:" if field.pointer else "if x:"):
                w(f"out[{key}] = x")


def _write_always(field: Field, w: Writer, guarded: bool) -> None:
    """Write a field whose key is always there."""
    key = repr(field.name)
    w(f"x = v[{key}] if {key} in v else None")
    if isinstance(field.node, StructSchema) and not field.pointer:
        w(f"out[{key}] = {_conversion(field, w, guarded)}")
        return
    with w.block("if x is None:"):
        w(f"out[{key}] = {absent(field)}")
    with w.block("else:"):
        result = _conversion(field, w, guarded)
        empty_is_null = isinstance(field.node, ListSchema | MapSchema) or field.node is NodeForm.STRINGS
        w(f"out[{key}] = {result} or None" if empty_is_null else f"out[{key}] = {result}")


def _conversion(field: Field, w: Writer, guarded: bool) -> str:
    """Write the check of `x`, and return the expression of its canonical value."""
    at = f"at = {field.name!r}"
    if field.node is Scalar.STRING:
        with w.block("if type(x) is not str:"):
            w(at, "raise Mismatch('a string', x)")
        return "x"
    w(at)
    if is_unbounded(field.node) and not guarded:
        w("check_depth(x)")
    if isinstance(field.node, ListSchema) and field.node.element is not Scalar.STRING:
        return _write_list(field.node.element, w)
    if isinstance(field.node, MapSchema) and field.node.value is not Scalar.STRING:
        return _write_map(field.node.value, w)
    return _single(field.node, "x", w)


def _single(node: Node, variable: str, w: Writer) -> str:
    """Return the expression that converts `variable`."""
    if isinstance(node, StructSchema):
        return f"{w.function(node)}({variable})"
    if isinstance(node, EitherSchema):
        return f"either_value({w.constant(node.alternative)}, {w.function(node.schema)}, {variable})"
    if isinstance(node, ListSchema):
        return f"strings_value({variable})"
    if isinstance(node, MapSchema):
        return f"string_map_value({variable})"
    return f"{_CONVERSIONS[node].__name__}({variable})"


def _write_list(element: Node, w: Writer) -> str:
    with w.block("if type(x) is not list:"):
        w("raise Mismatch('a list', x)")
    w("y = []")
    with w.block("for i in x:"):
        w(f"y.append({_part(element, w)})")
    w("x = y", "y = None")
    return "x"


def _write_map(value: Node, w: Writer) -> str:
    with w.block("if type(x) is not dict:"):
        w("raise Mismatch('an object', x)")
    w("y = {}")
    with w.block("for k in in_order(x):"):
        w("i = x[k]", f"y[k] = {_part(value, w)}")
    w("x = y", "y = k = None")
    return "x"


def _part(node: Node, w: Writer) -> str:
    """Return the expression of an element `i`, which may be null: Go has the zero value then."""
    single = _single(node, "i", w)
    return single if isinstance(node, StructSchema) else f"{single} if i is not None else {zero(node)}"
