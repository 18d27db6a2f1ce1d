"""PUT on one object or an object-shaped sub-resource (reference WRITE-9)."""

from __future__ import annotations

from orchtw.registry.identity import match_place, own_metadata
from orchtw.request import Response
from orchtw.rules.options import update_options
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.request_bodies import decode, read
from orchtw.wire.objects import Object


async def update(context: Writing, call: VerbCall) -> Response:
    """200 and the stored object, or 201 where the PUT created it.

    That the body is the object of the path is looked at before whether there is one.
    Raises BadRequest (400), NotFound (404), Conflict (409, a stale resourceVersion), Invalid (422).
    """
    options = update_options(call.request.params, context.naming)
    write = call.write(options, whole=True)
    first = [await read(context.offload, call.request, call.target.codec, context.negotiator)]
    match_place(write, own_metadata(first[0]))

    def replace(live: Object | None) -> Object:
        """The body as sent; decoded again when a round has to be repeated, since rounds change it."""
        return first.pop() if first else decode(call.request, call.target.codec, context.negotiator)

    written = await context.writes.update(write, replace)
    code = 201 if written.created else 200
    params = call.request.params
    return await context.representations.written(call.target, written.entry, call.accept, code, params=params)
