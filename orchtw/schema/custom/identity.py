"""Whether a body is an object of the custom kind that the path names (reference CRD-14)."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.errors import BadRequest, Cause, Invalid
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.codec.mismatch import shortened

_SHOWN_CHARACTERS: Final = 4_000


def check_identity(codec: KindCodec, value: dict[str, Any]) -> None:
    """Refuse a body without kind or of another version (400), and one of another kind (422).

    What is no text is left to the codec to refuse.
    """
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if kind == codec.kind and api_version == codec.api_version:
        return
    if not kind:
        raise codec.refusal(f"Object 'Kind' is missing in '{_shown(value)}'")
    if type(kind) is not str or (api_version is not None and type(api_version) is not str):
        return
    if api_version != codec.api_version:
        raise BadRequest(
            f"the API version in the data ({shortened(api_version or '')}) does not match "
            f"the expected API version ({codec.api_version})"
        )
    meta = value.get("metadata")
    name = meta.get("name") if type(meta) is dict else ""
    quoted = orjson.dumps(shortened(kind)).decode()
    cause = Cause("FieldValueInvalid", f"Invalid value: {quoted}: must be {codec.kind}", "kind")
    group = codec.api_version.rpartition("/")[0]
    raise Invalid.of(shortened(kind), group, name if type(name) is str else "", [cause])


def _shown(value: dict[str, Any]) -> str:
    try:
        return shortened(orjson.dumps(value).decode(), _SHOWN_CHARACTERS)
    except orjson.JSONEncodeError:
        return "{...}"
