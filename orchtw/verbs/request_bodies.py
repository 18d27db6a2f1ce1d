"""Request bodies: from bytes of a declared media type to canonical objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from orchtw.registry.offload import Offload
from orchtw.request import Request
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.strict_fields import IGNORE, WARN
from orchtw.schema.validation.metadata import drop_unstored
from orchtw.wire.objects import Object


def decode(
    request: Request,
    codec: Codec,
    negotiator: Negotiator,
    versions: Sequence[Codec] = (),
    live: Object | None = None,
    live_raw: bytes = b"",
) -> Object:
    """Return the body as an object of the codec's kind, with its declared defaults (reference WRITE-5, WRITE-6).

    Unknown and repeated fields are handled by fieldValidation: by default they are dropped with a warning.
    `versions`, `live` and `live_raw` are those of `read_body`. Raises UnsupportedMediaType (415), or BadRequest (400)
    naming the place that does not fit.
    """
    form = negotiator.body_format(request.headers.get("content-type", ""), protobuf=codec.protobuf)
    obj, findings = read_body(codec, request.body, form, directive_of(request), versions, live, live_raw)
    request.warnings += findings
    if meta := obj.get("metadata"):
        request.warnings += drop_unstored(meta)
    return obj


async def read(
    offload: Offload,
    request: Request,
    codec: Codec,
    negotiator: Negotiator,
    versions: Sequence[Codec] = (),
    live: Object | None = None,
    live_raw: bytes = b"",
) -> Object:
    """Return the body, as `decode`; a large one is decoded off the reactor. Audit gets the object (reference
    AUDIT-15).
    """
    size = codec.work_bytes(len(request.body))
    if offload.inline(size):
        obj = decode(request, codec, negotiator, versions, live, live_raw)
    else:
        obj = await offload.run(size, partial(decode, request, codec, negotiator, versions, live, live_raw))
    if request.on_decoded is not None:
        request.on_decoded(obj)
    return obj


async def read_optional(
    offload: Offload, request: Request, codec: Codec, negotiator: Negotiator
) -> Object | None:
    """Return the body, as `read`; None for a request without one."""
    return await read(offload, request, codec, negotiator) if request.body else None


def directive_of(request: Request) -> str:
    """Return `Ignore`, `Warn` or `Strict`; Warn by default. The verb's options validate the query's value."""
    if request.fields_unchecked:
        return IGNORE
    return (request.param("fieldValidation") or WARN) if request.query else WARN
