"""Updates: the loop that makes a change again until no other writer is faster (reference WRITE-2, WRITE-10)."""

from __future__ import annotations

from functools import partial

from orchtw.errors import AlreadyExists, NotFound
from orchtw.registry.recent_drafts import LONGEST, RECENT_DRAFTS
from orchtw.registry.reservations import Hold
from orchtw.registry.stored import Prepared
from orchtw.registry.target import Target
from orchtw.registry.write import Transform, Write, Written
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.store import Op
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions
from orchtw.writes.create import Creation
from orchtw.writes.drafts import Drafts, prepared_update
from orchtw.writes.identity import match_name, other_uid, own_metadata
from orchtw.writes.optimistic_lock import lost_race, may_create, modified
from orchtw.writes.removal import Removal
from orchtw.writes.steps import MAX_ATTEMPTS, Steps, committed, end, release


class Update:
    """Update of objects in one store.

    Conflicts with writers that were faster are retried, from the newer object, unless the wanted object names a
    resourceVersion.
    """

    def __init__(
        self, steps: Steps, admissions: Admissions, drafts: Drafts, creation: Creation, removal: Removal
    ) -> None:
        self._steps = steps
        self._admissions = admissions
        self._drafts = drafts
        self._creation = creation
        self._removal = removal

    async def update(self, write: Write, transform: Transform) -> Written:
        """Change a stored object, or create it, as `WritePath.update`."""
        stored = write.target.stored
        for _ in range(MAX_ATTEMPTS):
            if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                await wait
            if stored.cache.closed:
                live = await self._steps.stored_now(stored, write.namespace, write.name)
            else:
                live = stored.get(write.namespace, write.name)
            if live is None:
                written = await self._create(write, transform)
            else:
                written = await self._attempt(write, transform, live)
            if written is not None:
                return written
        raise modified(write)

    async def _create(self, write: Write, transform: Transform) -> Written | None:
        """Create the missing object (reference WRITE-9); None: another writer was faster, the round may be
        repeated.
        """
        resource, permissions = write.target.resource, self._steps.permissions
        if write.subresource or not may_create(write):
            raise NotFound.of(resource.plural, resource.group, write.name)
        if permissions is not None:
            await permissions.creating(write)
        obj = await self._steps.run(write.target.codec.work_bytes(write.size_bytes), lambda: transform(None))
        meta = own_metadata(obj)
        match_name(write, meta)
        if write.applies and meta.get("resourceVersion"):
            raise modified(write)
        if meta.get("uid"):
            raise other_uid(write, meta["uid"], "")
        meta.pop("resourceVersion", None)
        try:
            return Written(await self._creation.create(write, obj), created=True)
        except AlreadyExists:
            return None

    async def _attempt(self, write: Write, transform: Transform, live: Entry) -> Written | None:
        """Make one round of the loop; None: another writer was faster and the round may be repeated."""
        steps, target, stored = self._steps, write.target, write.target.stored
        size = target.codec.work_bytes(write.size_bytes + len(live.raw))
        # The steps are those of a create. 1. The change, on the live object of this round, with its managed fields.
        change = await steps.run(size, partial(self._drafts.change, write, transform, live))
        size = target.strategy.work_bytes(change.wanted, size)
        old, asked_version = change.old, change.asked_version
        # 2. Mutating admission, and the rights that the object grants.
        admission = self._admissions.of(write, "UPDATE", change.wanted, change.shown, size)
        if admission is not None:
            await admission.admit()
            write.step("Mutating admission finished")
        await steps.check_grants(write, size, change.wanted, change.shown, admission)
        # 3. The strategy and validation, against the live object; 4. reservations.
        new, check = await steps.run(size, partial(self._drafts.begin_update, write, change, admission))
        hold = await steps.reserve(write, size, new, old, check)
        try:
            # 5. Validating admission.
            if admission is not None and admission.validates:
                await admission.validate()
                write.step("Validating admission finished")
            # An update that changes nothing ends here: it has been admitted, and no revision is used up for it.
            prepared = await steps.run(size, partial(prepared_update, target, new, old, live))
            draft = target.for_writer(new)
            if prepared is None:
                _leave(target, live, draft, new)
                return Written(live)
            if _is_finished(target, new):
                gone = await self._remove_finished(write, live, old, prepared, asked_version, hold)
                return None if gone is None else Written(target.as_written(gone, new))
            left = new if len(prepared.raw) <= LONGEST else None  # a large one is not to wait for the disk either
            del change, new, old, check  # as in a create
            release(admission)
            if write.dry_run:
                return Written(target.as_written(prepared.entry(live.revision), draft))
            # 6. Compare and swap: the object must have the revision that this round began with.
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await steps.commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            end(hold, admission)
        if not outcome.revision:
            lost_race(write, asked_version, outcome.current)
            return None
        entry = committed(stored, prepared, outcome.revision)
        _leave(target, entry, draft, left)
        return Written(target.as_written(entry, draft))

    async def _remove_finished(
        self, write: Write, live: Entry, old: Object, prepared: Prepared, asked_version: str, hold: Hold | None
    ) -> Entry | None:
        """Remove a terminating object whose last finalizer the update removes (reference DEL-11)."""
        if hold is not None:
            hold.end()
        outcome = await self._removal.remove(write, live, old)
        if not outcome.revision:
            lost_race(write, asked_version, outcome.current)
            return None
        return prepared.entry(outcome.revision)


def _leave(target: Target, entry: Entry, draft: Object | None, left: Object | None) -> None:
    """Keep what an update has left of the object for the next one, unless its response is made of it."""
    if draft is None and left is not None:
        RECENT_DRAFTS.keep(target, entry, left)


def _is_finished(target: Target, obj: Object) -> bool:
    meta = obj["metadata"]
    terminating = meta.get("deletionTimestamp") and not meta.get("deletionGracePeriodSeconds")
    return bool(terminating) and not meta.get("finalizers") and not target.strategy.holds_removal(obj)
