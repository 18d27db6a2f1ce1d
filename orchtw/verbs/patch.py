"""PATCH on one object or an object-shaped sub-resource (supplement B3)."""

from __future__ import annotations

import orjson

from orchtw.apply.merge_patch import merge_patch, parse_merge_patch
from orchtw.errors import BadRequest, Cause, Invalid, NotFound, UnsupportedMediaType
from orchtw.registry.target import Object
from orchtw.request import Request, Response
from orchtw.rules.causes import go_quote
from orchtw.rules.negotiation import patch_type
from orchtw.rules.options import patch_options
from orchtw.verbs.call import Call
from orchtw.verbs.context import Context

SERVED = ("application/merge-patch+json",)


async def patch(context: Context, call: Call) -> Response:
    """200 and the patched object, in the asked version.

    Raises BadRequest (400, not a patch), UnsupportedMediaType (415), NotFound (404), Conflict (409, the
    patch names a stale resourceVersion), Invalid (422, the result is no valid object).
    """
    changes = merge_patch_of(call.request)
    options = patch_options(call.request.params, context.naming, apply=False)
    resource = call.target.resource

    def apply(live: Object | None) -> Object:
        """The live object with the changes; a resourceVersion among them is the client's precondition."""
        if live is None:
            raise NotFound.of(resource.plural, resource.group, call.info.name)
        current = live["metadata"].pop("resourceVersion")
        patched = merge_patch(live, changes)
        if not call.target.stored.strategy.traits.unconditional_update and isinstance(patched.get("metadata"), dict):
            patched["metadata"].setdefault("resourceVersion", current)
        return _decoded(call, patched)

    written = await context.writes.update(call.write(dry_run=options.dry_run), apply)
    return context.representations.entry(call.target, written.entry, call.accept, params=call.request.params)


def merge_patch_of(request: Request) -> Object:
    """The patch document. Raises UnsupportedMediaType (415) for another kind of patch, BadRequest (400)."""
    if patch_type(request.headers.get("content-type", "")) != "merge":
        raise UnsupportedMediaType.of(SERVED)
    return parse_merge_patch(request.body)


def _decoded(call: Call, patched: Object) -> Object:
    """The patched object in canonical form; Invalid (422) when it no longer is an object of the kind."""
    codec = call.target.codec
    try:
        obj = codec.normalise(patched)
    except BadRequest as error:
        text = f"Invalid value: {go_quote(orjson.dumps(patched).decode())}: {error.message}"
        raise Invalid.of("", "", "", [Cause("FieldValueInvalid", text, "patch")]) from error
    codec.default(obj)
    return obj
