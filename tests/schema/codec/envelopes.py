"""Helpers that decode Protobuf responses."""

from __future__ import annotations

from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.wire.objects import Object


def opened(codec: KindCodec, envelope: bytes) -> Object:
    """The object in an envelope of the codec's kind, as it is there. Raises BadRequest if it is of another kind."""
    api_version, kind, raw = unwrap(envelope)
    codec.type.check(api_version, kind)
    return codec.decode_protobuf(raw)
