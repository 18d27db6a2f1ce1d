"""POST on a collection (reference WRITE-5)."""

from __future__ import annotations

from orchtw.request import Response
from orchtw.rules.write_options import create_options
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.request_bodies import read


async def create(context: Writing, call: VerbCall) -> Response:
    """Create an object: 201 and the stored object, dry run included.

    Raises BadRequest (400), Invalid (422, a cause per field), AlreadyExists (409), Forbidden (403).
    """
    options = create_options(call.request.params, context.naming)
    reading = read(context.offload, call.request, call.target.codec, context.negotiator)
    entry = await context.writes.create(call.write(options), await reading)  # it alone holds the object
    return await context.representations.written(call.target, entry, call.accept, 201, params=call.request.params)
