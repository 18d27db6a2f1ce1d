"""Request bodies: from bytes of a declared media type to canonical objects."""

from __future__ import annotations

from typing import Any

from orchtw.errors import BadRequest
from orchtw.request import Request
from orchtw.rules.negotiation import body_format
from orchtw.schema.codec import KindCodec
from orchtw.schema.envelope import unwrap
from orchtw.schema.yaml_codec import load_yaml


def decode(request: Request, codec: KindCodec, protobuf_media_type: str) -> dict[str, Any]:
    """The body as an object of the codec's kind (supplement B1).

    Raises UnsupportedMediaType (415), or BadRequest (400) naming the place that does not fit.
    """
    form = body_format(request.headers.get("content-type", ""), protobuf_media_type)
    if form == "json":
        return codec.decode_json(request.body)
    if form == "yaml":
        return codec.normalise(load_yaml(request.body))
    return decode_protobuf(request.body, codec)


def decode_protobuf(body: bytes, codec: KindCodec) -> dict[str, Any]:
    """An enveloped object; a type that the envelope leaves out is the codec's own."""
    api_version, kind, raw = unwrap(body)
    if (api_version or codec.api_version, kind or codec.kind) != (codec.api_version, codec.kind):
        expected = f"{codec.kind} in version {codec.api_version!r}"
        raise BadRequest(f'{kind} in version "{api_version}" cannot be handled as a {codec.kind}: expected {expected}')
    return codec.decode_protobuf(raw)
