"""Protobuf messages → canonical dicts, by functions generated from the schema.

Fields are expected in ascending number, as every encoder writes them; any other order works too, slower. Unknown
fields are dropped. A truncated, ill-typed or non-UTF-8 message raises SchemaError with the place; if a singular field
is repeated, the last one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from orchtw.schema.codec import wire, wire_forms
from orchtw.schema.codec.canonical import absent, in_place, is_omitted, is_unbounded
from orchtw.schema.codec.generated import Functions, Writer
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.wire import FIXED64, LENGTH, VARINT
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
from orchtw.schema.values import check_depth, in_order

_WIRE_TYPES = {Scalar.BOOL: VARINT, Scalar.INT32: VARINT, Scalar.INT64: VARINT, Scalar.DOUBLE: FIXED64}
_READERS: dict[Node, wire_forms.Read] = {
    Scalar.STRING: wire_forms.read_string,
    Scalar.BYTES: wire_forms.read_bytes,
    NodeForm.TIME: wire_forms.read_time,
    NodeForm.MICRO_TIME: wire_forms.read_micro_time,
    NodeForm.DURATION: wire_forms.read_duration,
    NodeForm.QUANTITY: wire_forms.read_quantity,
    NodeForm.INT_OR_STRING: wire_forms.read_int_or_string,
    NodeForm.ANY: wire_forms.read_any,
    NodeForm.OBJECT: wire_forms.read_object,
    NodeForm.STRINGS: wire_forms.read_strings,
}
_END = "t = -1"  # no tag is negative


def decoders() -> Functions:
    """Make one function per struct: (bytes, start, end) → canonical dict; raises SchemaError or RecursionError."""
    given = {function.__name__: function for function in _READERS.values()}
    more = (
        wire.read_varint,
        wire.read_int32,
        wire.read_int64,
        wire_forms.read_double,
        wire.skip,
        wire.map_entry,
        located,
        check_depth,
        in_order,
        SchemaError,
    )
    return Functions(_write, {**given, **{each.__name__: each for each in more}})


def located(error: Exception, tag: int, names: Mapping[int, str], found: object) -> SchemaError:
    """Return the error of the field of `tag`: one of its content, or of the field itself."""
    if isinstance(error, UnicodeDecodeError):
        error = SchemaError("invalid UTF-8")
    elif not isinstance(error, SchemaError):
        error = SchemaError("truncated" if isinstance(error, IndexError) else str(error))
    name = names.get(tag >> 3)
    return error.within(name, found) if name else error


def _write(schema: StructSchema, w: Writer) -> None:
    fields = sorted(schema.fields, key=lambda field: field.number)
    names = {field.number: field.name for field in fields}
    known = w.constant(names)
    long_tags = bool(fields) and fields[-1].number > 15
    with w.block(f"def {w.name}(b, p, e):"):
        w("t = 0", *(f"f{field.number} = {_initial(field)}" for field in fields))
        with w.block("try:"):
            with w.block("while p < e:"):
                _write_tag("p", long_tags, w)
                for field in fields:
                    _write_field(field, long_tags, schema.recursive, w)
                w("if t < 0: break")
                _write_pass(known, long_tags, w)
                tags = frozenset(_tag(field) for field in fields)
                w(f"p = s if t in {w.constant(tags)} else skip(b, s, e, {known})")
            with w.block("if p != e:"):
                w("raise SchemaError('truncated')")
        with w.block("except (IndexError, ValueError) as error:"):
            w(f"raise located(error, t, {known}, locals().get(f'f{{t >> 3}}')) from None")
        w(f"out = {dict(schema.types)!r}")
        for field in schema.fields:
            _write_result(field, w)
        w("return out")


def _write_pass(known: str, long_tags: bool, w: Writer) -> None:
    """Skip an unknown length-delimited field inline: in a partial schema most fields are unknown."""
    with w.block(f"if t & 7 == {LENGTH} and 7 < t < {1 << 14 if long_tags else 1 << 7} and t >> 3 not in {known}:"):
        w("n = b[p]", "p += 1", "if n > 127: n, p = read_varint(b, p - 1)", "p += n")
        w("if p > e: raise SchemaError('truncated')", "continue")


def _tag(field: Field) -> int:
    node = field.node.element if isinstance(field.node, ListSchema) else field.node
    return field.number << 3 | (_WIRE_TYPES.get(node, LENGTH) if isinstance(node, Scalar) else LENGTH)


def _initial(field: Field) -> str:
    """Return the initial value of a field's local: that of an absent field in the canonical dict."""
    return "None" if in_place(field.node) and not isinstance(field.node, NodeForm) else absent(field)


def _write_tag(position: str, long_tags: bool, w: Writer) -> None:
    """Read the tag at `position` into t; s keeps where it starts."""
    if position == "p":
        w("s = p", "t = b[p]", "p += 1")
    else:
        w(f"s = {position}", f"t = b[{position}]", f"p = {position} + 1")
    if long_tags:
        w("if t > 127: t = t & 127 | b[p] << 7; p += 1")


def _write_next(position: str, long_tags: bool, w: Writer) -> None:
    with w.block(f"if {position} < e:"):
        _write_tag(position, long_tags, w)
    with w.block("else:"):
        w(*([] if position == "p" else [f"p = {position}"]), _END)


def _write_field(field: Field, long_tags: bool, guarded: bool, w: Writer) -> None:
    local = f"f{field.number}"
    repeated = isinstance(field.node, ListSchema | MapSchema)
    with w.block(f"if t == {_tag(field)}:"):
        if repeated:
            with w.block(f"if {local} is None:"):
                w(f"{local} = {'[]' if isinstance(field.node, ListSchema) else '{}'}")
            with w.block(f"while t == {_tag(field)}:"):
                _write_content(field, local, long_tags, w)
        else:
            _write_content(field, local, long_tags, w)
        if is_unbounded(field.node) and not guarded:
            w(f"check_depth({local})")


def _write_content(field: Field, local: str, long_tags: bool, w: Writer) -> None:
    """Read one occurrence of a field and the tag after it."""
    node = field.node.element if isinstance(field.node, ListSchema) else field.node
    target = f"{local}.append({{}})" if isinstance(field.node, ListSchema) else f"{local} = {{}}"
    if node in (Scalar.BOOL, Scalar.INT32, Scalar.INT64):
        read = "read_int32" if node is Scalar.INT32 else "read_int64"
        w("n = b[p]", "p += 1", f"if n > 127: n, p = {read}(b, p - 1)")
        w(target.format("n != 0" if node is Scalar.BOOL else "n"))
        _write_next("p", long_tags, w)
        return
    if node is Scalar.DOUBLE:
        w("q = p + 8")
    else:
        w("n = b[p]", "p += 1", "if n > 127: n, p = read_varint(b, p - 1)", "q = p + n")
    w("if q > e: raise SchemaError('truncated')")
    if isinstance(node, MapSchema):
        w("k, x = map_entry(b, p, q)", f"{local}[k] = {_read(node.value, 'x', w)}")
    elif isinstance(node, StructSchema):
        w(target.format(f"{w.function(node)}(b, p, q)"))
    elif node is Scalar.STRING:
        w(target.format("b[p:q].decode() if n else ''"))
    else:
        w(target.format(_read(node, "b[p:q]", w)))
    _write_next("q", long_tags, w)


def _read(node: Node, data: str, w: Writer) -> str:
    """Return the expression that reads a length-delimited value out of `data`, an expression of bytes."""
    if node is Scalar.STRING:
        return f"{data}.decode()"
    if node is Scalar.DOUBLE:
        return f"read_double({data})"
    if isinstance(node, StructSchema):
        return f"{w.function(node)}({data}, 0, len({data}))"
    if isinstance(node, EitherSchema):
        return f"{w.constant(_either_reader(node, w))}({data})"
    return f"{_READERS[node].__name__}({data})"


def _either_reader(node: EitherSchema, w: Writer) -> wire_forms.Read:
    decode = partial(_call, w, node.schema)
    if node.alternative is Alternative.BOOL:
        return partial(wire_forms.read_either_bool, decode)
    if node.alternative is Alternative.STRINGS:
        return partial(wire_forms.read_either, decode, wire_forms.read_string)
    return partial(wire_forms.read_either, decode, lambda data: decode(data, 0, len(data)))


def _call(w: Writer, schema: StructSchema, data: bytes, start: int, end: int) -> Any:
    return w.compiled(schema)(data, start, end)


def _write_result(field: Field, w: Writer) -> None:
    """Put the field into `out` as the canonical dict has it."""
    local, key = f"f{field.number}", repr(field.name)
    if isinstance(field.node, MapSchema):
        w(f"if {local} and len({local}) > 1: {local} = {{k: {local}[k] for k in in_order({local})}}")
    if isinstance(field.node, StructSchema) and not field.pointer:
        w(f"if {local} is None: {local} = {w.function(field.node)}(b'', 0, 0)")
        w(f"out.update({local})" if field.inline else f"out[{key}] = {local}")
    elif not is_omitted(field):
        w(f"out[{key}] = {local}" + (" or None" if field.node is NodeForm.STRINGS else ""))
    elif field.pointer:
        w(f"if {local} is not None: out[{key}] = {local}")
    else:
        w(f"if {local}: out[{key}] = {local}")
