"""GET of a collection's changes (reference WATCH-1)."""

from __future__ import annotations

from typing import Final

from orchtw.request import Response
from orchtw.serving.watch_stream import WatchStream
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading, WatchTimes
from orchtw.verbs.list import options_of, selection_of

STARTED: Final = 1000
"""Objects of the state that are converted before a watch begins; the others are converted while it is sent."""


async def watch(context: Reading, times: WatchTimes, call: VerbCall) -> Response:
    """Watch a collection: 200 and a stream of events that ends at the deadline.

    Without a version it begins with the current state, at version 0 with that of the cache, unless
    `sendInitialEvents` says otherwise (reference WATCH-20). Raises BadRequest (400), Invalid (422), Timeout (504).
    """
    options = options_of(context, call)
    if options.initial_events or not options.revision:
        wanted = MOST_RECENT if options.revision is None else options.revision
        if (wait := call.target.stored.cache.freshness.due(wanted)) is not None:
            await wait
    wire = context.representations.wire(call.target, call.accept, params=call.request.params)
    selection, cache = selection_of(call, options), call.target.stored.cache
    cache.check_unlocked(selection.namespace)
    forms = call.target.forms
    if cache.large:  # frames are made on the reactor, of encodings that are there already
        large = [entry for entry in cache.large_among(selection) if forms is None or not forms.lacks(entry)]
        await context.representations.encode_large(call.target, large, call.accept)
    if call.target.stored.codec.unread:  # so is the first of all, for functions are compiled then
        await context.representations.encode_large(call.target, cache.candidates(selection)[:1], call.accept)
    with_state = not options.revision if options.initial_events is None else options.initial_events
    if forms is not None and with_state:  # who cannot be shown the state is told so at once
        first = cache.candidates(selection)[:STARTED]
        await forms.ensure([entry for entry in first if selection.matches(entry)])
    member = cache.watch(
        selection,
        wire,
        since=None if with_state else options.revision or None,
        with_state=with_state,
        marks=options.bookmarks and options.initial_events is True,
        bookmarks=options.bookmarks,
        deadline=times.deadline(options.timeout_s),
    )
    return Response(content_type=call.accept.content_type, stream=WatchStream(member))
