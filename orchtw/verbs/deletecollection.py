"""DELETE on a collection (supplement A13)."""

from __future__ import annotations

from orchtw.errors import NotFound, StatusError
from orchtw.request import Response
from orchtw.verbs.call import Call
from orchtw.verbs.context import Context
from orchtw.verbs.delete import read_options
from orchtw.verbs.list import options_of, selection_of
from orchtw.verbs.state import state_of
from orchtw.watch.entry import Entry


async def deletecollection(context: Context, call: Call) -> Response:
    """200 and the list of what was deleted or began to end.

    What is gone meanwhile is skipped. All objects are tried; the first refusal is the answer.
    """
    options = options_of(context, call)
    how = read_options(context, call)
    state = await state_of(context, call, options, selection_of(call, options))
    chosen = state.entries[: options.limit] if options.limit else state.entries
    refusal: StatusError | None = None
    deleted: list[Entry] = []
    for entry in chosen:
        write = call.write(dry_run=how.dry_run, name=entry.name, namespace=entry.namespace)
        try:
            deleted.append((await context.deletion.delete(write, how)).entry)
        except NotFound:
            continue
        except StatusError as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal
    meta = {"resourceVersion": str(context.cacher.revision)}
    return await context.representations.list(call.target, deleted, meta, call.accept, params=call.request.params)
