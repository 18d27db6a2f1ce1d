"""PUT on one object or an object-shaped sub-resource (reference WRITE-9)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import StatusError
from orchtw.registry.at_rest import SMALL_BYTES
from orchtw.registry.offload import INLINE_BYTES
from orchtw.registry.sharing import may_share
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.request import Response
from orchtw.rules.write_options import update_options
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.request_bodies import decode, read
from orchtw.wire.objects import Object
from orchtw.writes.identity import match_place, own_metadata

_UNKNOWN: Final = (None, b"")


async def update(context: Writing, call: VerbCall) -> Response:
    """Update an object: 200 and the stored object, or 201 if the PUT created it.

    The body's name is checked before the object is looked up. Raises BadRequest (400), NotFound (404), Conflict (409,
    a stale resourceVersion), Invalid (422).
    """
    options = update_options(call.request.params, context.naming)
    write = call.write(options, whole=True)
    live, raw = _load(call.target, write)
    codec = call.target.codec
    first = [await read(context.offload, call.request, codec, context.negotiator, live=live, live_raw=raw)]
    match_place(write, own_metadata(first[0]))

    def replace(live: Object | None) -> Object:
        """Return the body as sent, decoded again for each further round, since rounds change it."""
        return first.pop() if first else decode(call.request, call.target.codec, context.negotiator)

    written = await context.writes.update(write, replace)
    code = 201 if written.created else 200
    params = call.request.params
    return await context.representations.written(call.target, written.entry, call.accept, code, params=params)


def _load(target: Target, write: Write) -> tuple[Object | None, bytes]:
    """Return the object that a body is to replace, which it mostly equals, and its message; None where finding it
    gains nothing.

    Where the body may share its parts, it stays at hand for the write, so nothing may change it.
    """
    stored = target.stored
    if target.from_storage is not None or target.forms is not None or stored.cache.closed:
        return _UNKNOWN
    try:
        entry = stored.get(write.namespace, write.name)
        if entry is None or not target.has_json(entry) or not SMALL_BYTES <= len(entry.raw) <= INLINE_BYTES:
            return _UNKNOWN
        if not may_share(target, entry):
            return target.load_draft(entry), entry.raw
        write.at_hand.entry, write.at_hand.obj = entry, target.take_draft(entry)
        return write.at_hand.obj, entry.raw
    except StatusError:  # an object that cannot be read: the write itself will say so
        return _UNKNOWN
