"""Bodies: a JSON-shaped value as JSON, YAML or Protobuf, and the bytes spoilt afterwards."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import orjson
import yaml

from orchtw.errors import StatusError
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.kind_codec import KindCodec

_YAML_SNIPPETS = (
    b"---\n", b"a: &a [*a]\n", b"<<: {a: 1}\n", b"!!binary x\n", b"? {a: b}\n: c\n", b"\t", b"%YAML 9.9\n---\n",
    b"x: !!python/object:os.system {}\n", b"a: &x [1,2]\nb: *x\nc: [*x, *x]\n", b"a: 0x" + b"f" * 300 + b"\n",
    b"a: .inf\n", b"a: 1_000:30\n", b"\xff\xfe", b"a: 2001-01-01\n", b"a: " + b"9" * 5000 + b"\n", b"[" * 2000,
)  # fmt: skip


def json_body(value: Any, random: Random) -> bytes:
    """JSON text; what orjson cannot write goes through the standard library, which writes anything."""
    try:
        return orjson.dumps(value)
    except (TypeError, RecursionError):
        return _any_json(value, ascii_only=random.random() < 0.5)


def _any_json(value: Any, *, ascii_only: bool) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    except RecursionError:
        return b'{"a":' * 2000 + b"1" + b"}" * 2000


def yaml_body(value: Any, random: Random) -> bytes:
    """YAML text, sometimes with something in it that few expect."""
    try:
        text = yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=random.random() < 0.3, allow_unicode=True)
        body: bytes = text.encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, RecursionError, UnicodeError):
        body = _any_json(value, ascii_only=True)
    if random.random() < 0.15:
        snippet = random.choice(_YAML_SNIPPETS)
        body = random.choice((snippet + body, body + snippet, snippet))
    return body


def protobuf_body(value: Any, codec: KindCodec, random: Random) -> bytes:
    """The envelope of `value`, or of nothing where it does not fit its type; sometimes under another's name."""
    try:
        raw = codec.encode_protobuf(codec.normalise(value))
    except (StatusError, TypeError, UnicodeError):
        raw = b""
    api_version, kind = codec.api_version, codec.kind
    if random.random() < 0.05:
        api_version, kind = random.choice((("", ""), ("v1", kind), (api_version, "Pod"), ("é/\x00", "K" * 300)))
    return wrap(api_version, kind, raw)


def broken(body: bytes, random: Random) -> bytes:
    """`body` with some of its bytes changed, lost, doubled or added."""
    if not body:
        return random.choice((b"\x00", b"{", b"k8s\x00", b"\xef\xbb\xbf{}"))
    at, draw = random.randrange(len(body)), random.random()
    if draw < 0.35:
        return body[:at] + bytes([body[at] ^ 1 << random.randrange(8)]) + body[at + 1 :]
    if draw < 0.55:
        return body[:at]
    if draw < 0.65:
        return body[:at] + random.randbytes(random.choice((1, 4, 40))) + body[at:]
    if draw < 0.75:
        return body[:at] + body[at + random.choice((1, 2, 9)) :]
    if draw < 0.85:
        return body + body[at:]
    if draw < 0.9:
        return random.choice((b"\xef\xbb\xbf", b"\xff", b" " * 100, b"/**/")) + body
    if draw < 0.95:
        return body.replace(b":", b':1,"a":', 1)
    return random.choice((b"[" * 100_000, b"null", b"[]", b'"x"', b"1", b"{}" * 3, b'{"a":' * 1500, b"\x00" * 50))
