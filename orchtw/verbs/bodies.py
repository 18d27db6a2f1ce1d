"""Request bodies: from bytes of a declared media type to canonical objects."""

from __future__ import annotations

from functools import partial

from orchtw.objects import Object
from orchtw.registry.offload import Offload
from orchtw.request import Request
from orchtw.rules.metadata import drop_unkept
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.codec.yaml_codec import decode_yaml
from orchtw.verbs.field_validation import IGNORE, directive_of, strict_error


def decode(request: Request, codec: KindCodec, negotiator: Negotiator) -> Object:
    """The body as an object of the codec's kind, with its declared defaults (supplement B1).

    Fields that are unknown or come twice are dropped, as fieldValidation says: with a warning on the request unless
    it says otherwise. Raises UnsupportedMediaType (415), or BadRequest (400) naming the place that does not fit.
    """
    form = negotiator.body_format(request.headers.get("content-type", ""), protobuf=codec.protobuf)
    if form == "json":
        value = codec.parse_json(request.body)
        obj = codec.normalise(value)
        directive = directive_of(request)
        if directive != IGNORE and (findings := codec.strict_findings(value, request.body)):
            _report(request, codec, directive, findings)
    elif form == "yaml":
        obj = _decode_yaml(request, codec)
    else:
        obj = codec.decode_envelope(request.body)
    if meta := obj.get("metadata"):
        request.warnings += drop_unkept(meta)
    codec.default(obj)
    return obj


async def read(offload: Offload, request: Request, codec: KindCodec, negotiator: Negotiator) -> Object:
    """As `decode`; a large body is read off the reactor."""
    return await offload.run(len(request.body), partial(decode, request, codec, negotiator))


async def read_optional(
    offload: Offload, request: Request, codec: KindCodec, negotiator: Negotiator
) -> Object | None:
    """As `read`; None for a request without a body."""
    return await read(offload, request, codec, negotiator) if request.body else None


def _decode_yaml(request: Request, codec: KindCodec) -> Object:
    findings: list[str] = []
    value = decode_yaml(request.body, codec.kind, findings)
    obj = codec.normalise(value)
    directive = directive_of(request)
    if directive != IGNORE:
        if type(value) is dict:
            findings += codec.strict_findings(value)
        _report(request, codec, directive, findings)
    return obj


def _report(request: Request, codec: KindCodec, directive: str, findings: list[str]) -> None:
    """Warn of the findings, or refuse them: BadRequest (400)."""
    if error := strict_error(request, directive, findings):
        raise codec.refusal(error)
