"""Documents in the forms that are made for each request, part by part: indented JSON, YAML, and Tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from orchtw.rules.negotiation import Negotiated
from orchtw.schema.codec.yaml_codec import encode_yaml, yaml_parts
from orchtw.wire.objects import Object

Dump = Callable[[Object], bytes]
"""Function that writes compact JSON of a value with members that orjson does not know by itself."""


def object_parts(obj: Object, accept: Negotiated) -> Iterator[bytes]:
    """Yield one object in a text form; YAML in parts that take a few milliseconds to make.

    As in the release, compact JSON ends its line and indented JSON does not (reference ENC-20).
    """
    if accept.format == "yaml":
        yield from yaml_parts(obj)
    elif accept.pretty:
        yield orjson.dumps(obj, option=orjson.OPT_INDENT_2)
    else:
        yield orjson.dumps(obj, option=orjson.OPT_APPEND_NEWLINE)


def list_parts(
    head: Object, field: str, batches: Iterable[list[Any]], accept: Negotiated, dump: Dump = orjson.dumps
) -> Iterator[bytes]:
    """Return `head` with the values of all batches under `field`, in a text form; one part for each batch.

    `field` follows the keys of `head`; in YAML, whose keys are sorted, it is in order.
    """
    filled = filter(None, batches)
    if accept.format == "yaml":
        return _yaml(head, field, filled)
    return _indented(head, field, filled) if accept.pretty else _compact(head, field, filled, dump)


def _compact(head: Object, field: str, batches: Iterable[list[Any]], dump: Dump) -> Iterator[bytes]:
    yield b'%b,"%b":[' % (dump(head)[:-1], field.encode())
    separator = b""
    for batch in batches:
        yield separator + dump(batch)[1:-1]  # type: ignore[arg-type]
        separator = b","
    yield b"]}\n"


def _indented(head: Object, field: str, batches: Iterable[list[Any]]) -> Iterator[bytes]:
    """Yield the JSON as orjson indents the whole: each batch is indented at the same depth and cut out."""
    name = field.encode()
    cut = len(name) + len(b'{\n  "": [\n')
    yield b'%b,\n  "%b": [' % (_pretty(head)[: -len(b"\n}")], name)
    separator, end = b"\n", b"]\n}"
    for batch in batches:
        yield separator + _pretty({field: batch})[cut : -len(b"\n  ]\n}")]
        separator, end = b",\n", b"\n  ]\n}"
    yield end


def _pretty(value: Object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _yaml(head: Object, field: str, batches: Iterable[list[Any]]) -> Iterator[bytes]:
    before = {key: value for key, value in head.items() if key < field}
    after = {key: value for key, value in head.items() if key > field}
    if before:
        yield encode_yaml(before)
    name = field.encode()
    begun = False
    for batch in batches:
        if not begun:
            yield name + b":\n"
            begun = True
        yield from yaml_parts(batch)
    if not begun:
        yield name + b": []\n"
    if after:
        yield encode_yaml(after)
