"""Steps of removals: admission, marks of termination, removal from the store (reference DEL-4)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from orchtw.registry.stored import Stored
from orchtw.registry.write import Write
from orchtw.rules.delete_options import DeleteOptions
from orchtw.storage.store import Op, WriteOutcome
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions
from orchtw.writes.steps import Steps


class Removal:
    """Steps of removals from one store; `Deletion` puts them in order."""

    def __init__(self, steps: Steps, admissions: Admissions) -> None:
        self._steps = steps
        self._admissions = admissions

    def load(self, write: Write, live: Entry) -> Coroutine[Any, Any, Object]:
        """Return the draft of an object that is to end, for the caller's own use.

        Without admission the stored version will do, so that no conversion webhook can stop the deletion.
        """
        target = write.target
        load = target.stored.load if write.admitted else target.load_draft
        return self._steps.run(len(live.raw), lambda: load(live))

    def admit(self, write: Write, live: Entry, old: Object, options: DeleteOptions) -> Coroutine[Any, Any, None]:
        """Run admission on the deletion of `old`, the live object. Raises what plugins raise."""
        return self._admissions.deleting(write, old, options, len(live.raw))

    async def terminate(self, write: Write, live: Entry, new: Object, old: Object) -> Entry | None:
        """Store `new`, the live object with its marks of termination; None: another writer was faster."""
        steps, stored, size = self._steps, write.target.stored, write.target.strategy.work_bytes(new, len(live.raw))
        hold = await steps.reserve(write, size, new, old, _nothing)
        try:
            prepared = await steps.run(size, lambda: write.target.prepare(new))
            if write.dry_run:
                return write.target.as_written(prepared.entry(live.revision), new)
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await steps.commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            if hold is not None:
                hold.end()
        return write.target.as_written(prepared.entry(outcome.revision), new) if outcome.revision else None

    async def remove(self, write: Write, live: Entry, old: Object | None) -> WriteOutcome:
        """Remove the live object, unless another writer was faster; a dry run answers with the live revision.

        `old` is the draft of the object; None: it is unreadable, and its reservations are left to the repair.
        """
        if write.dry_run:
            return WriteOutcome(live.revision)
        hold = None if old is None else await self._steps.reserve(write, len(live.raw), None, old, _nothing)
        key = write.target.stored.prefix + live.key
        outcome = await self._steps.commit(write, Op(key, None, live.revision), hold)
        write.step("Object deleted from database")
        return outcome

    async def discard(self, stored: Stored, key: str, revision: int) -> None:
        """Remove an unreadable object, unless it has changed; admission cannot be asked about its content."""
        await self._steps.store.commit(Op(stored.prefix + key, None, revision))


def _nothing() -> None:
    """Do nothing: an object that ends needs no check."""
