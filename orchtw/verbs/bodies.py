"""Request bodies: from bytes of a declared media type to canonical objects."""

from __future__ import annotations

from typing import Any

from orchtw.request import Request
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.codec import KindCodec
from orchtw.schema.yaml_codec import decode_yaml

Object = dict[str, Any]


def decode(request: Request, codec: KindCodec, negotiator: Negotiator) -> Object:
    """The body as an object of the codec's kind, with its declared defaults (supplement B1).

    Raises UnsupportedMediaType (415), or BadRequest (400) naming the place that does not fit.
    """
    form = negotiator.body_format(request.headers.get("content-type", ""))
    if form == "json":
        obj = codec.decode_json(request.body)
    elif form == "yaml":
        obj = codec.normalise(decode_yaml(request.body, codec.kind))
    else:
        obj = codec.decode_envelope(request.body)
    codec.default(obj)
    return obj


def decode_optional(request: Request, codec: KindCodec, negotiator: Negotiator) -> Object | None:
    """As `decode`; None for a request without a body."""
    return decode(request, codec, negotiator) if request.body else None
