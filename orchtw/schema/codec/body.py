"""The way of a body to an object: parse it, fit it to its schema, refuse what a strict reader finds.

`read_body` takes all three steps, `fit_value` the last two of a value that is parsed already, and `fit_own` only the
second one: what the server itself made or changed has no reader to be told of findings. The rules of the schema are
checked later, once defaults and admission have completed the object: `Codec.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from orchtw.errors import StatusError
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.envelope import opened
from orchtw.schema.codec.json_beside import parse_beside
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.codec.mismatch import MalformedBody, Mismatch
from orchtw.schema.codec.refusals import unrecognized
from orchtw.schema.codec.strict_fields import IGNORE, STRICT, strict_error
from orchtw.schema.codec.yaml_codec import decode_yaml

Format = Literal["json", "yaml", "protobuf"]
"""The forms of objects."""

_NOT_JSON = "couldn't get version/kind; json parse error: "


class Parsed(msgspec.Struct, eq=False):
    """Parsed body, not compared with any schema yet.

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


def read_body(
    codec: Codec,
    body: bytes,
    form: Format,
    directive: str,
    versions: Sequence[Codec] = (),
    live: dict[str, Any] | None = None,
    live_raw: bytes = b"",
) -> tuple[dict[str, Any], list[str]]:
    """Return the object of a body, canonical, with its declared defaults, and what a strict reader finds in the body.

    Findings are unknown and repeated fields (reference WRITE-26), which are not in the object; under the field
    validation directive Ignore there are none. A body that names the apiVersion of one of `versions`, codecs of the
    kind in other versions, becomes an object of that version. `live` is the object that the body is to replace, if it
    is at hand, and `live_raw` its message: unchanged parts cost less. Raises BadRequest (400) naming the place that
    does not fit, and under Strict all findings; for custom kinds Invalid (422).
    """
    # 1. Parse: what the body says that it is decides on the codec.
    value = parse_beside(body, live) if live is not None and form == "json" else None
    if value is not None:
        return fit_value(codec, value, directive, live=live)
    try:
        parsed = parse(body, form)
    except MalformedBody as error:
        raise unrecognized(body, codec.kind, str(error)) from None
    for other in versions:
        if parsed.api_version == other.api_version:
            codec = other
    # A message has no unknown fields that could be named.
    if parsed.raw is not None:
        return codec.fit_message(str(parsed.api_version), str(parsed.kind), parsed.raw, live, live_raw), []
    return fit_value(codec, parsed.value, directive, live=live, text=parsed.text, found=parsed.repeated)


def fit_value(
    codec: Codec,
    value: object,
    directive: str,
    *,
    live: dict[str, Any] | None = None,
    text: bytes = b"",
    found: Sequence[str] = (),
    refusal: Callable[[str], StatusError] | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return object and findings of a parsed value, as `read_body`; `text` is its JSON, if there is one.

    `found` are findings of the parser, and `refusal` makes the error of all findings, if not the codec.
    """
    # 2. Fit: canonical form, defaults.
    if live is not None and type(value) is dict and _is_alike(value, live):
        obj, findings = codec.fit_changes(value, live, directive, text)
    else:
        obj, findings = codec.fit(value, directive, text)
    # 3. Refuse: only now are all findings known.
    if found and directive != IGNORE:
        findings = [*found, *findings]
    if findings and directive == STRICT:
        raise (refusal or codec.refusal)(strict_error(findings))
    return obj, findings


def fit_own(codec: Codec, value: object) -> dict[str, Any]:
    """Return the object of a value of the server's own, or of its plugins; kind and apiVersion may be absent.

    Unknown fields are dropped. Raises BadRequest (400) for a value that does not fit; for custom kinds Invalid (422).
    """
    obj = codec.normalise(value)
    codec.set_defaults(obj)
    return obj


def _is_alike(value: dict[str, Any], live: dict[str, Any]) -> bool:
    return value.get("apiVersion") == live.get("apiVersion") and value.get("kind") == live.get("kind")


def parse(body: bytes, form: Format) -> Parsed:
    """Parse a body in time linear in its length. Raises MalformedBody also for one with too many parts."""
    if form == "json":
        return _json(body)
    if form == "protobuf":
        api_version, kind, raw = opened(body)
        return Parsed(api_version, kind, raw=raw)
    repeated: list[str] = []
    value = decode_yaml(body, repeated)
    types = value if type(value) is dict else {}
    return Parsed(types.get("apiVersion"), types.get("kind"), value, repeated=repeated)


def _json(body: bytes) -> Parsed:
    try:
        value = parse_json(body)
    except ValueError as error:
        raise MalformedBody(f"{_NOT_JSON}{error}") from None
    if type(value) is not dict:
        raise MalformedBody(f"{_NOT_JSON}{Mismatch('an object', value)}")
    return Parsed(value.get("apiVersion"), value.get("kind"), value, text=body)
