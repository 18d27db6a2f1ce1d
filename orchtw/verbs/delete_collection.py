"""DELETE on a collection (reference DEL-12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.errors import Invalid, NotFound, StatusError
from orchtw.request import Response
from orchtw.rules.delete_options import IGNORE_READ_ERRORS, DeleteOptions
from orchtw.values.causes import invalid
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading, Writing
from orchtw.verbs.delete import read_options
from orchtw.verbs.list import options_of, selection_of
from orchtw.verbs.list_state import state_of
from orchtw.watch.entry import Entry
from orchtw.writes.delete import Deletion

AT_A_TIME: Final = 32
"""Objects on their way to the store at a time: some milliseconds of work between two turns of the reactor."""


async def deletecollection(reading: Reading, writing: Writing, clock: IReactorTime, call: VerbCall) -> Response:
    """Delete a collection: 200 and the list of objects deleted or terminating.

    Objects gone meanwhile are skipped. All objects are tried; the first refusal is the answer.
    """
    options = options_of(reading, call)
    how = await read_options(writing, call)
    if how.ignore_read_errors:
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise Invalid.of("DeleteOptions", writing.naming.meta_group, "", [invalid(IGNORE_READ_ERRORS, True, why)])
    restores = writing.deletion.restores
    state = await state_of(reading, call, options, selection_of(call, options))
    chosen = state.entries[: options.limit] if options.limit else state.entries
    deleted = await _delete_all(writing.deletion, clock, call, chosen, how, restores)
    meta = {"resourceVersion": str(reading.cacher.revision)}
    return await reading.representations.list(call.target, deleted, meta, call.accept, params=call.request.params)


async def _delete_all(
    deletion: Deletion,
    clock: IReactorTime,
    call: VerbCall,
    chosen: Sequence[Entry],
    how: DeleteOptions,
    restores: int,
) -> list[Entry]:
    """Delete objects, a few at a time so that they are committed together; return them in list order."""
    outcomes: list[Entry | StatusError | None] = [None] * len(chosen)
    waiting = iter(enumerate(chosen))

    async def work() -> None:
        for place, entry in waiting:
            write = call.write(how, name=entry.name, namespace=entry.namespace)
            try:
                outcomes[place] = (await deletion.delete(write, how, restores)).entry
            except NotFound:
                pass
            except StatusError as error:
                outcomes[place] = error
            await deferLater(clock, 0)  # a dry run has waited for nothing so far

    await gatherResults([Deferred.fromCoroutine(work()) for _ in range(AT_A_TIME)])
    for outcome in outcomes:
        if isinstance(outcome, StatusError):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Entry)]
