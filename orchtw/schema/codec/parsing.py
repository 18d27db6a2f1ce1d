"""Bodies in every form, parsed once: what they say they are is known before any codec is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.codec.mismatch import Mismatch
from orchtw.schema.codec.refusals import unparseable
from orchtw.schema.codec.yaml_codec import decode_yaml

Format = Literal["json", "yaml", "protobuf"]
"""The forms of objects."""


@attrs.define(slots=True, eq=False)
class Parsed:
    """A parsed body, which has not been compared with any schema yet.

    `api_version` and `kind` are what the body says, checked in no way. `value` is what JSON or YAML holds; an
    envelope has `raw` instead, the message in it. `text` is the text of JSON, the only place where repeated keys
    still show; `repeated` names those of YAML.
    """

    api_version: object
    kind: object
    value: Any = None
    raw: bytes | None = None
    text: bytes = b""
    repeated: Sequence[str] = ()


def parse(body: bytes, form: Format, must_be: str) -> Parsed:
    """Parse a body, which `must_be` of that kind, in time linear in its length.

    Raises BadRequest (400) for what is not well-formed or has too many parts.
    """
    if form == "json":
        return _json(body, must_be)
    if form == "protobuf":
        api_version, kind, raw = unwrap(body, must_be)
        return Parsed(api_version, kind, raw=raw)
    repeated: list[str] = []
    value = decode_yaml(body, must_be, repeated)
    types = value if type(value) is dict else {}
    return Parsed(types.get("apiVersion"), types.get("kind"), value, repeated=repeated)


def _json(body: bytes, must_be: str) -> Parsed:
    try:
        value = parse_json(body)
    except ValueError as error:
        raise unparseable(body, must_be, str(error)) from None
    if type(value) is not dict:
        raise unparseable(body, must_be, str(Mismatch("an object", value)))
    return Parsed(value.get("apiVersion"), value.get("kind"), value, text=body)
