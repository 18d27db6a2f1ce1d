"""The way of a body to an object: parse it, fit it to its schema, refuse what a strict reader finds.

The rules of the schema are checked later, once defaults and admission have completed the object: `Codec.check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.envelope import opened
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.codec.mismatch import MalformedBody, Mismatch
from orchtw.schema.codec.refusals import unrecognized
from orchtw.schema.codec.strict_fields import IGNORE, STRICT, strict_error
from orchtw.schema.codec.yaml_codec import decode_yaml

Format = Literal["json", "yaml", "protobuf"]
"""The forms of objects."""

_NOT_JSON = "couldn't get version/kind; json parse error: "


@attrs.define(slots=True, eq=False)
class Parsed:
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
    try:
        parsed = parse(body, form)
    except MalformedBody as error:
        raise unrecognized(body, codec.kind, str(error)) from None
    for other in versions:
        if parsed.api_version == other.api_version:
            codec = other
    # 2. Fit: canonical form, defaults. A message has no unknown fields that could be named.
    if parsed.raw is not None:
        return codec.fit_message(str(parsed.api_version), str(parsed.kind), parsed.raw, live, live_raw), []
    if live is not None and parsed.api_version == live["apiVersion"] and parsed.kind == live["kind"]:
        obj, findings = codec.fit_changes(parsed.value, live, directive, parsed.text)
    else:
        obj, findings = codec.fit(parsed.value, directive, parsed.text)
    # 3. Refuse: only now are all findings known.
    if parsed.repeated and directive != IGNORE:
        findings = [*parsed.repeated, *findings]
    if findings and directive == STRICT:
        raise codec.refusal(strict_error(findings))
    return obj, findings


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
