"""GET of a collection's changes (seed 1 §4.3, §4.6, §6)."""

from __future__ import annotations

from orchtw.request import Response
from orchtw.serving.watch_stream import WatchStream
from orchtw.verbs.call import Call
from orchtw.verbs.context import Reading, WatchTimes
from orchtw.verbs.list import options_of, selection_of


async def watch(context: Reading, times: WatchTimes, call: Call) -> Response:
    """200 and a stream of events that ends at the deadline.

    Without a version, or at version 0, it begins with what is there. Raises BadRequest (400), Invalid (422).
    """
    options = options_of(context, call)
    wire = context.representations.wire(call.target, call.accept, params=call.request.params)
    member = call.target.stored.cache.watch(
        selection_of(call, options),
        wire,
        since=options.revision or None,
        bookmarks=options.bookmarks,
        deadline=times.deadline(options.timeout_s),
    )
    return Response(content_type=call.accept.content_type, stream=WatchStream(member))
