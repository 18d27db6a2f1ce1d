"""PATCH on one object or an object-shaped sub-resource (reference PATCH-2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from orchtw.apply.patches import MECHANISMS
from orchtw.errors import BadRequest, Cause, Invalid, NotFound, TooLargeToStore
from orchtw.registry.write import Transform, Write, Written
from orchtw.request import Request, Response
from orchtw.rules.negotiation import patch_type
from orchtw.rules.write_options import patch_options
from orchtw.schema.codec.body import fit_value
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.mismatch import describe
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.schema.validation.metadata import drop_unstored
from orchtw.values.causes import go_quote
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.request_bodies import directive_of
from orchtw.wire.objects import Object

_TOO_DEEP = "error decoding patch: nested too deeply"


async def patch(context: Writing, call: VerbCall) -> Response:
    """Patch an object: 200 and the object in the requested version.

    Raises BadRequest (400, not a patch), UnsupportedMediaType (415), NotFound (404), Conflict (409, the patch names a
    stale resourceVersion), Invalid (422, it cannot be applied, or the result is not valid).
    """
    options = patch_options(call.request.params, context.naming, apply=False)
    changes = await read_changes(context, call.request, call.target.codec)
    resource = call.target.resource

    def change(live: Object | None) -> Object:
        if live is None:
            raise NotFound.of(resource.plural, resource.group, call.info.name)
        return changes.of(live)

    write = call.write(options, from_live=True, shares=changes.copies)
    written = await store(context, write, change)
    return await context.representations.written(call.target, written.entry, call.accept, params=call.request.params)


async def store(context: Writing, write: Write, transform: Transform) -> Written:
    """Store a patched object, without managed fields if it is too large with them (reference PATCH-8)."""
    try:
        return await context.writes.update(write, transform)
    except TooLargeToStore:
        return await context.writes.update(msgspec.structs.replace(write, unowned=True), transform)


async def read_changes(context: Writing, request: Request, codec: Codec) -> Changes:
    """Return the patch in a request; a large one is parsed off the reactor. Raises as `Changes` does."""
    return await context.offload.run(len(request.body), partial(Changes, request, codec))


class Changes:
    """Patch in a request, for objects of the codec's kind; it may be applied again after a conflict.

    Raises UnsupportedMediaType (415) and BadRequest (400, the body is not a patch).
    """

    def __init__(self, request: Request, codec: Codec) -> None:
        sent = request.headers.get("content-type", "")
        self._mechanism = MECHANISMS[patch_type(sent, strategic=codec.protobuf)]
        self._request = request
        self._codec = codec
        self._directive = directive_of(request)
        document = self._mechanism.parse(request.body)
        ignored = self._directive == IGNORE
        self._findings = [] if ignored else _guarded(self._mechanism.findings, request.body, document)
        self._unused = [document]

    @property
    def copies(self) -> bool:
        """Report whether `of` changes nothing of the live object."""
        return self._mechanism.copies

    def of(self, live: Object) -> Object:
        """Apply the patch to `live`, which may be changed in place; return the canonical object with defaults.

        The result carries a resourceVersion only if the patch changed it: then it is the client's precondition.
        Raises BadRequest (400) and Invalid (422).
        """
        present = live["metadata"].get("resourceVersion")
        # Results share parts with the document: a further round needs its own.
        document = self._unused.pop() if self._unused else self._mechanism.parse(self._request.body)
        patched = _guarded(self._mechanism.apply, live, document, self._codec.schema)
        try:
            obj = self._decoded(patched, live)
        except BadRequest as error:
            quoted = go_quote(_guarded(self._mechanism.quote, document, patched))
            why = _guarded(self._mechanism.fault, self._codec.schema, patched) or error.message
            cause = Cause("FieldValueInvalid", f"Invalid value: {quoted}: {why}", "patch")
            raise Invalid.of("", "", "", [cause]) from error
        self._request.warnings += drop_unstored(obj["metadata"], admitted=True)
        if obj["metadata"].get("resourceVersion") == present:
            obj["metadata"].pop("resourceVersion", None)
        return obj

    def _decoded(self, patched: Any, live: Object) -> Object:
        """Return the result in canonical form. Raises BadRequest if it is not, or not strictly, an object of the
        kind.
        """
        if type(patched) is not dict:
            raise self._codec.refusal(f"expected an object, got {describe(patched)}")
        obj, findings = fit_value(
            self._codec,
            patched,
            self._directive,
            live=live if self._mechanism.copies else None,
            found=self._findings,
            refusal=BadRequest,  # of the patch: it names no kind
        )
        self._request.warnings += findings
        return obj


def _guarded(function: Callable[..., Any], *args: Any) -> Any:
    """Return the function's result. Raises BadRequest (400) for a patch that nests deeper than Python recurses."""
    try:
        return function(*args)
    except RecursionError:
        raise BadRequest(_TOO_DEEP) from None
