"""Canonical dicts → Protobuf messages, byte for byte as the reference encodes (reference ENC-18).

Fields in ascending number; singular fields without a pointer are written also when zero, pointers and fields that
came after release 1.24 when set; map entries sorted by key. The input must be canonical, apart from the order of
keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.schema.codec import wire_forms
from orchtw.schema.codec.canonical import in_place, zero
from orchtw.schema.codec.generated import Functions, Writer
from orchtw.schema.codec.wire import FIXED64, LENGTH, VARINT, short_fields, tag, varint
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

_WIRE_TYPES = {Scalar.BOOL: VARINT, Scalar.INT32: VARINT, Scalar.INT64: VARINT, Scalar.DOUBLE: FIXED64}
# Encoders of a canonical value as the content of a length-delimited field.
_CONTENTS: dict[Node, Callable[[Any], bytes]] = {
    Scalar.BYTES: wire_forms.bytes_content,
    NodeForm.TIME: wire_forms.time_message,
    NodeForm.MICRO_TIME: wire_forms.micro_time_message,
    NodeForm.DURATION: wire_forms.duration_message,
    NodeForm.QUANTITY: wire_forms.quantity_message,
    NodeForm.INT_OR_STRING: wire_forms.int_or_string_message,
    NodeForm.ANY: wire_forms.any_message,
    NodeForm.OBJECT: wire_forms.any_message,
    NodeForm.STRINGS: wire_forms.strings_message,
}


def encoders() -> Functions:
    """Make one function per struct: canonical dict → message bytes."""
    given = {function.__name__: function for function in _CONTENTS.values()}
    more = (wire_forms.either_message, wire_forms.either_bool_message, wire_forms.double_bits, varint)
    return Functions(_write, {**given, **{each.__name__: each for each in more}, "EMPTY": {}})


def _write(schema: StructSchema, w: Writer) -> None:
    with w.block(f"def {w.name}(d):"):
        w("parts = []", "add = parts.append")
        for field in sorted(schema.fields, key=lambda field: field.number):
            _write_field(field, w)
        w("return b''.join(parts)")


def _write_field(field: Field, w: Writer) -> None:
    key = repr(field.name)
    node = field.node
    if field.inline:
        w(f"x = {_content(node, 'd', w)}")
        _write_delimited(field.number, w)
    elif isinstance(node, ListSchema | MapSchema):
        with w.block(f"if {key} in d and d[{key}]:"):
            with w.block(f"for i in {'sorted' if isinstance(node, MapSchema) else ''}(d[{key}]):"):
                _write_entry(field.number, node, key, w)
    elif field.pointer or field.later:
        _write_present(field, key, w)
    elif isinstance(node, Scalar) and node is not Scalar.BYTES:
        with w.block(f"if {key} in d:"):
            _write_value(field, f"d[{key}]", w)
        with w.block("else:"):
            nothing = bytes(8) if node is Scalar.DOUBLE else b"\x00"
            w(f"add({tag(field.number, _WIRE_TYPES.get(node, LENGTH)) + nothing!r})")
    elif in_place(node):
        absent = "EMPTY" if isinstance(node, StructSchema) else zero(node)
        _write_value(field, f"d[{key}] if {key} in d else {absent}", w)
    else:
        _write_present(field, key, w)


def _write_present(field: Field, key: str, w: Writer) -> None:
    with w.block(f"if {key} in d and d[{key}] is not None:"):
        _write_value(field, f"d[{key}]", w)


def _write_value(field: Field, value: str, w: Writer) -> None:
    _write_single(field.number, field.node, value, w)


def _write_single(number: int, node: Node, value: str, w: Writer) -> None:
    """Write the field whose value is the expression `value`."""
    wire_type = _WIRE_TYPES.get(node, LENGTH) if isinstance(node, Scalar) else LENGTH
    key = tag(number, wire_type)
    if node is Scalar.BOOL:
        w(f"add({key + bytes([1])!r} if {value} else {key + bytes([0])!r})")
    elif node is Scalar.DOUBLE:
        w(f"add({key!r} + double_bits({value}))")
    elif wire_type == VARINT:
        w(f"x = {value}", f"add({w.constant(short_fields(key))}[x] if 0 <= x < 128 else {key!r} + varint(x))")
    else:
        w(f"x = {_content(node, value, w)}")
        _write_delimited(number, w)


def _content(node: Node, value: str, w: Writer) -> str:
    """Return the expression of a length-delimited field's content."""
    if node is Scalar.STRING:
        return f"{value}.encode()" if " " not in value else f"({value}).encode()"
    if isinstance(node, StructSchema):
        return f"{w.function(node)}({value})"
    if isinstance(node, EitherSchema):
        name = "either_bool_message" if node.alternative is Alternative.BOOL else "either_message"
        return f"{name}({w.function(node.schema)}, {value})"
    return f"{_CONTENTS[node].__name__}({value})"


def _write_delimited(number: int, w: Writer) -> None:
    """Write the field whose content is `x`."""
    key = tag(number, LENGTH)
    w("n = len(x)", f"add({w.constant(short_fields(key))}[n] if n < 128 else {key!r} + varint(n))", "add(x)")


def _write_entry(number: int, node: ListSchema | MapSchema, key: str, w: Writer) -> None:
    """Write the field for list element or map key `i`."""
    if isinstance(node, ListSchema):
        _write_single(number, node.element, "i", w)
        return
    first, second = (w.constant(short_fields(tag(each, LENGTH))) for each in (1, 2))
    w("k = i.encode()", "m = len(k)", f"v = {_content(node.value, f'd[{key}][i]', w)}", "n = len(v)")
    w(
        f"x = ({first}[m] if m < 128 else b'\\x0a' + varint(m)) + k"
        f" + ({second}[n] if n < 128 else b'\\x12' + varint(n)) + v"
    )
    _write_delimited(number, w)
