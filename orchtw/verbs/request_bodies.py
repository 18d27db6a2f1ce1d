"""Request bodies: from bytes of a declared media type to canonical objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from orchtw.registry.offload import Offload
from orchtw.request import Request
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.codec.strict_fields import IGNORE, WARN
from orchtw.schema.validation.metadata import drop_unstored
from orchtw.wire.objects import Object


def decode(
    request: Request, codec: KindCodec, negotiator: Negotiator, versions: Sequence[KindCodec] = ()
) -> Object:
    """The body as an object of the codec's kind, with its declared defaults (reference WRITE-5, WRITE-6).

    Fields that are unknown or come twice are dropped, as fieldValidation says: with a warning on the request unless
    it says otherwise. `versions` are those of `KindCodec.read`. Raises UnsupportedMediaType (415), or BadRequest
    (400) naming the place that does not fit.
    """
    form = negotiator.body_format(request.headers.get("content-type", ""), protobuf=codec.protobuf)
    obj, findings = codec.read(request.body, form, directive_of(request), versions)
    request.warnings += findings
    if meta := obj.get("metadata"):
        request.warnings += drop_unstored(meta)
    return obj


async def read(
    offload: Offload, request: Request, codec: KindCodec, negotiator: Negotiator, versions: Sequence[KindCodec] = ()
) -> Object:
    """As `decode`; a large body is read off the reactor, and the audit is told what it holds (reference AUDIT-15)."""
    size = codec.work_bytes(len(request.body))
    if offload.inline(size):
        obj = decode(request, codec, negotiator, versions)
    else:
        obj = await offload.run(size, partial(decode, request, codec, negotiator, versions))
    if request.on_decoded is not None:
        request.on_decoded(obj)
    return obj


async def read_optional(
    offload: Offload, request: Request, codec: KindCodec, negotiator: Negotiator
) -> Object | None:
    """As `read`; None for a request without a body."""
    return await read(offload, request, codec, negotiator) if request.body else None


def directive_of(request: Request) -> str:
    """`Ignore`, `Warn` or `Strict`; Warn unless the query says otherwise, and the verb's options check what it
    says.
    """
    if request.fields_unchecked:
        return IGNORE
    return (request.param("fieldValidation") or WARN) if request.query else WARN
