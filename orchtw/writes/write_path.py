"""The loop of every write: read, change, admit, reserve, validate, compare and swap (reference WRITE-2)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from time import perf_counter
from typing import Any, TypeVar

from orchtw.apply.field_manager import FieldManager
from orchtw.errors import AlreadyExists, Conflict, Fenced, InternalError, MethodNotAllowed, NotFound
from orchtw.metrics.registry import Registry
from orchtw.naming.naming import Naming
from orchtw.registry.converting import run_converting
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.identity import (
    match_name,
    modified,
    other_uid,
    own_metadata,
)
from orchtw.registry.metadata import Stamp, ordered
from orchtw.registry.offload import Offload
from orchtw.registry.permissions import Permissions
from orchtw.registry.recent_drafts import LONGEST, RECENT_DRAFTS
from orchtw.registry.reservations import Hold
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.target import Target
from orchtw.registry.write import Transform, Write, Written
from orchtw.rules.delete_options import DeleteOptions
from orchtw.schema.codec.codec import Codec
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.metrics import StoreTimes
from orchtw.storage.store import KeyValue, Op, Store, WriteOutcome
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admission, Admissions, Settle, Submission, as_it_is
from orchtw.writes.drafts import Check, Drafts, prepared_object, prepared_update
from orchtw.writes.gate import WriteGate

T = TypeVar("T")

Annotate = Callable[[Write, Op], Op]
"""Returns the commit of a write with more in its note than the write path knows to be needed."""

MAX_ATTEMPTS = 100
"""Attempts of one write against racing writers: 64 writers on one object all get through, a livelock ends."""


class WritePath:
    """Creates, updates and removals, against one store.

    Conflicts with writers that were faster are retried inside, from the newer object, unless the wanted object names
    a resourceVersion. Between admission, which may wait, and the store, a write is pure computation on dicts of its
    own, done off the reactor for large objects. `gate`, if there is one, stands in front of all writes. `names` is
    the limit of names that are tried for an object whose name is generated.
    """

    def __init__(
        self,
        store: Store,
        admissions: Admissions,
        stamp: Stamp,
        random: Random,
        ownership: FieldOwnership,
        offload: Offload,
        permissions: Permissions | None = None,
        times: StoreTimes | None = None,
        gate: WriteGate | None = None,
        annotate: Annotate | None = None,
        names: int = 1,
    ) -> None:
        self.gate = gate
        self._store = store
        self._annotate = annotate
        self._times = times or StoreTimes(Registry(), Naming.orch())
        self._permissions = permissions
        self._admissions = admissions
        self._stamp = stamp
        self._ownership = ownership
        self._drafts = Drafts(stamp, random, ownership, names)
        self._offload = offload

    def now(self) -> float:
        """Return the time for timestamps in objects, in seconds since the epoch."""
        return self._stamp.now()

    def timestamp(self) -> str:
        """Return the same time as metadata holds it."""
        return self._stamp.timestamp()

    def field_manager(self, target: Target, subresource: str) -> FieldManager:
        """Return the field manager of a target's endpoint."""
        return self._ownership.of(target, subresource)

    async def read(self, target: Target, entry: Entry) -> Object:
        """Return a stored object in the version of the target."""
        return await self._run(len(entry.raw), lambda: target.load(entry))

    async def permit(self, asked: Submission, codec: Codec, settle: Settle = as_it_is) -> Object:
        """Run admission for a request whose own object is not stored, as `Admissions.permit`."""
        return await self._admissions.permit(asked, codec, settle)

    async def create(self, write: Write, obj: Object) -> Entry:
        """Store a new object (reference WRITE-5).

        Raises AlreadyExists (409), Invalid (422, a cause per field), Forbidden (403), NotFound (404, the namespace),
        RequestEntityTooLarge (413), MethodNotAllowed (405, the kind stores nothing new any more).
        """
        if self.gate is None:
            return await self._create(write, obj, None)
        return await self.gate.run(partial(self._create, write, obj, self.gate))

    async def _create(self, write: Write, obj: Object, gate: WriteGate | None) -> Entry:
        begun = 0 if gate is None else gate.times_opened
        target, stored = write.target, write.target.stored
        size = target.codec.work_bytes(write.size_bytes)
        _check_open(stored)
        # 1. Managed fields come before admission: nobody is to own what a plugin added.
        await self._run(size, partial(self._drafts.arriving, write, obj))
        size = target.strategy.work_bytes(obj, size)
        # 2. Mutating admission, then the rights that the object grants: a plugin may have added some.
        admission = self._admissions.of(write, "CREATE", obj, None, size)
        if admission is not None:
            await admission.admit()
            write.step("Mutating admission finished")
        await self._check_grants(write, size, obj, None, admission)
        # 3. The strategy and validation see what plugins made of the object, and the name is generated.
        generated, new, check = await self._run(size, partial(self._drafts.begin_create, write, obj, admission))
        # 4. Reservations fill in addresses and ports, which validation looks at; from here on they must be ended.
        hold = await self._reserve(write, size, new, None, check)
        try:
            # 5. Validating admission sees the object as it will be stored; quota is charged last of all.
            if admission is not None and admission.validates:
                await admission.validate()
                write.step("Validating admission finished")
            prepared = await self._run(size, partial(prepared_object, target, new))
            draft = target.for_writer(new)
            del obj, new, check  # what waits for the disk are bytes: see `Prepared`
            _release(admission)
            if write.dry_run:
                if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                    await wait
                return target.as_written(await self._pretend_create(write, prepared, generated=generated), draft)
            # 6. Compare and swap: the name must be free.
            _check_open(stored)  # again: nothing comes into a collection after it was closed
            if gate is not None:
                gate.check(begun)
            op = Op(stored.prefix + prepared.key, prepared.value, 0, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            _end(hold, admission)
        if not outcome.revision:
            raise await self._exists(write, prepared, generated=generated)
        return target.as_written(self._entry(stored, prepared, outcome.revision), draft)

    async def _exists(self, write: Write, prepared: Prepared, *, generated: bool) -> AlreadyExists:
        """Return the error for a taken name; it says so if that object is being deleted (reference ERR-6)."""
        resource, stored = write.target.resource, write.target.stored
        try:
            live = stored.cache.get(prepared.key)
        except InternalError:  # it cannot be read, but its name is taken all the same
            live = None
        old = {} if live is None else (await self._run(len(live.raw), lambda: stored.load(live)))["metadata"]
        refusal = AlreadyExists.generated if generated else AlreadyExists.of
        return refusal(resource.plural, resource.group, prepared.name, ending="deletionTimestamp" in old)

    async def update(self, write: Write, transform: Transform) -> Written:
        """Change a stored object, or create it where the kind allows a PUT to create (reference WRITE-9, WRITE-10).

        `transform` gets the live object and may be called again when another writer was faster.
        Raises NotFound (404), Conflict (409), Invalid (422), Forbidden (403).
        """
        if self.gate is None:
            written = await self._update(write, transform)
        else:
            written = await self.gate.run(partial(self._update, write, transform))
        await self._acknowledge(write, written)
        return written

    async def _update(self, write: Write, transform: Transform) -> Written:
        stored = write.target.stored
        for _ in range(MAX_ATTEMPTS):
            if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                await wait
            if stored.cache.closed:
                live = await self.stored_now(stored, write.namespace, write.name)
            else:
                live = stored.get(write.namespace, write.name)
            if live is None:
                written = await self._create_by_update(write, transform)
            else:
                written = await self._try_update(write, transform, live)
            if written is not None:
                return written
        raise modified(write)

    async def _acknowledge(self, write: Write, written: Written) -> None:
        """Wait until a client's change of an object is in force on this server, if that is later than it is
        stored.
        """
        in_force = write.target.stored.in_force
        if in_force is not None and write.request is not None and not (write.subresource or write.dry_run):
            await in_force(written.entry)
            write.step("Object took effect")

    async def discard(self, stored: Stored, key: str, revision: int) -> None:
        """Remove an unreadable object, unless it has changed; admission cannot be asked about its content."""
        await self._store.commit(Op(stored.prefix + key, None, revision))

    async def stored_now(self, stored: Stored, namespace: str, name: str) -> Entry | None:
        """Return the object from the store, for a write whose resource is being replaced by another."""
        key = stored.tail(namespace, name)
        found = await self._store.get(stored.prefix + key)
        return None if found is None else stored.build(key, found.value, found.revision)

    async def _create_by_update(self, write: Write, transform: Transform) -> Written | None:
        """Create the object by an update; None: another writer was faster and the round may be repeated."""
        resource = write.target.resource
        if write.subresource or not _may_create(write):
            raise NotFound.of(resource.plural, resource.group, write.name)
        if self._permissions is not None:
            await self._permissions.creating(write)
        obj = await self._run(write.target.codec.work_bytes(write.size_bytes), lambda: transform(None))
        meta = own_metadata(obj)
        match_name(write, meta)
        if write.applies and meta.get("resourceVersion"):
            raise modified(write)
        if meta.get("uid"):
            raise other_uid(write, meta["uid"], "")
        meta.pop("resourceVersion", None)
        try:
            return Written(await self._create(write, obj, self.gate), created=True)
        except AlreadyExists:
            return None

    async def _try_update(self, write: Write, transform: Transform, live: Entry) -> Written | None:
        """Make one round of the loop; None: another writer was faster and the round may be repeated."""
        target, stored = write.target, write.target.stored
        size = target.codec.work_bytes(write.size_bytes + len(live.raw))
        # The steps are those of `create`. 1. The change, on the live object of this round, with its managed fields.
        change = await self._run(size, partial(self._drafts.change, write, transform, live))
        size = target.strategy.work_bytes(change.wanted, size)
        old, asked_version = change.old, change.asked_version
        # 2. Mutating admission, and the rights that the object grants.
        admission = self._admissions.of(write, "UPDATE", change.wanted, change.shown, size)
        if admission is not None:
            await admission.admit()
            write.step("Mutating admission finished")
        await self._check_grants(write, size, change.wanted, change.shown, admission)
        # 3. The strategy and validation, against the live object; 4. reservations.
        new, check = await self._run(size, partial(self._drafts.begin_update, write, change, admission))
        hold = await self._reserve(write, size, new, old, check)
        try:
            # 5. Validating admission.
            if admission is not None and admission.validates:
                await admission.validate()
                write.step("Validating admission finished")
            # An update that changes nothing ends here: it has been admitted, and no revision is used up for it.
            prepared = await self._run(size, partial(prepared_update, target, new, old, live))
            draft = target.for_writer(new)
            if prepared is None:
                _leave(target, live, draft, new)
                return Written(live)
            if _is_finished(target, new):
                gone = await self._remove_finished(write, live, old, prepared, asked_version, hold)
                return None if gone is None else Written(target.as_written(gone, new))
            left = new if len(prepared.raw) <= LONGEST else None  # a large one is not to wait for the disk either
            del change, new, old, check  # as in `create`
            _release(admission)
            if write.dry_run:
                return Written(target.as_written(prepared.entry(live.revision), draft))
            # 6. Compare and swap: the object must have the revision that this round began with.
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            _end(hold, admission)
        if not outcome.revision:
            _lost_race(write, asked_version, outcome.current)
            return None
        entry = self._entry(stored, prepared, outcome.revision)
        _leave(target, entry, draft, left)
        return Written(target.as_written(entry, draft))

    async def _remove_finished(
        self, write: Write, live: Entry, old: Object, prepared: Prepared, asked_version: str, hold: Hold | None
    ) -> Entry | None:
        """Remove a terminating object whose last finalizer the update removes (reference DEL-11)."""
        if hold is not None:
            hold.end()
        outcome = await self.remove(write, live, old)
        if not outcome.revision:
            _lost_race(write, asked_version, outcome.current)
            return None
        return prepared.entry(outcome.revision)

    async def _pretend_create(self, write: Write, prepared: Prepared, *, generated: bool) -> Entry:
        """Return the result of a dry-run create: the object without a resourceVersion, unless the name is taken."""
        if write.target.stored.cache.get(prepared.key) is not None:
            raise await self._exists(write, prepared, generated=generated)
        return prepared.dry_run_entry()

    async def load(self, write: Write, live: Entry) -> Object:
        """Return the draft of an object that is to end, for the caller's own use.

        Without admission the stored version will do, so that no conversion webhook can stop the deletion.
        """
        target = write.target
        load = target.stored.load if write.admitted else target.load_draft
        return await self._run(len(live.raw), lambda: load(live))

    async def admit_delete(self, write: Write, live: Entry, old: Object, options: DeleteOptions) -> None:
        """Run admission on the deletion of `old`, the live object. Raises what plugins raise."""
        await self._admissions.deleting(write, old, options, len(live.raw))

    async def terminate(self, write: Write, live: Entry, new: Object, old: Object) -> Entry | None:
        """Store `new`, the live object with its marks of termination; None: another writer was faster."""
        stored, size = write.target.stored, write.target.strategy.work_bytes(new, len(live.raw))
        hold = await self._reserve(write, size, new, old, _nothing)
        try:
            prepared = await self._run(size, lambda: write.target.prepare(new))
            if write.dry_run:
                return write.target.as_written(prepared.entry(live.revision), new)
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(write, op, hold)
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
        hold = None if old is None else await self._reserve(write, len(live.raw), None, old, _nothing)
        key = write.target.stored.prefix + live.key
        outcome = await self._commit(write, Op(key, None, live.revision), hold)
        write.step("Object deleted from database")
        return outcome

    async def _check_grants(
        self, write: Write, size: int, wanted: Object, live: Object | None, admission: Admission | None
    ) -> None:
        """Refuse a write that grants rights which the writer may not grant (reference AUTHZ-20)."""
        permissions = self._permissions
        if permissions is None or not permissions.concerns(write):
            return
        new = wanted if admission is None else await self._run(size, admission.outcome)
        await permissions.granting(write, new, live)

    async def _reserve(
        self, write: Write, size: int, new: Object | None, old: Object | None, check: Check
    ) -> Hold | None:
        """Reserve what the write takes, then `check`; None if the kind reserves nothing: it has been checked."""
        stored = write.target.stored
        reservations = stored.strategy.reservations
        if reservations is None:
            return None
        hold = Hold(await reservations.reserve(new, old, dry_run=write.dry_run))
        try:
            if new is not None:
                await self._run(size, lambda: _canonical(stored.codec, new))
            await self._run(size, check)
        except BaseException:
            hold.end()
            raise
        return hold

    def _run(self, size_bytes: int, work: Callable[[], T]) -> Coroutine[Any, Any, T]:
        return run_converting(self._offload, size_bytes, work)

    async def _commit(self, write: Write, op: Op, hold: Hold | None) -> WriteOutcome:
        """Commit `op` to the store, if the writer still has the right to. Raises Fenced (503)."""
        began = perf_counter()
        try:
            op = write.guarded(op)
            if self._annotate is not None:
                op = self._annotate(write, op)
        except BaseException:
            if hold is not None:
                hold.end()
            raise
        outcome = await (self._store.commit(op) if hold is None else hold.commit(self._store, op))
        self._times.took(write.target.stored.prefix, op, perf_counter() - began)
        if outcome.fenced:
            raise Fenced
        return outcome

    @staticmethod
    def _entry(stored: Stored, prepared: Prepared, revision: int) -> Entry:
        """Return the cache's entry of the commit, or one of our own if a later write has replaced it."""
        entry = stored.cache.get(prepared.key)
        return prepared.entry(revision) if entry is None or entry.revision != revision else entry


def _leave(target: Target, entry: Entry, draft: Object | None, left: Object | None) -> None:
    """Keep what an update has left of the object for the next one, unless its response is made of it."""
    if draft is None and left is not None:
        RECENT_DRAFTS.keep(target, entry, left)


def _end(hold: Hold | None, admission: Admission | None) -> None:
    if hold is not None:
        hold.end()
    if admission is not None:
        admission.end()


def _release(admission: Admission | None) -> None:
    if admission is not None:
        admission.release()


def _check_open(stored: Stored) -> None:
    if stored.closed:
        raise MethodNotAllowed.at_present(stored.closed)


def _may_create(write: Write) -> bool:
    return write.applies or write.target.strategy.traits.create_on_update


def _is_finished(target: Target, obj: Object) -> bool:
    meta = obj["metadata"]
    terminating = meta.get("deletionTimestamp") and not meta.get("deletionGracePeriodSeconds")
    return bool(terminating) and not meta.get("finalizers") and not target.strategy.holds_removal(obj)


def _lost_race(write: Write, asked_version: str, current: KeyValue | None) -> None:
    """Raise the error for a lost race if repeating cannot help: Conflict (409) or NotFound (404)."""
    resource = write.target.resource
    if asked_version:
        raise Conflict.modified(resource.plural, resource.group, write.name)
    if current is None and not _may_create(write):
        raise NotFound.of(resource.plural, resource.group, write.name)


def _canonical(codec: Codec, obj: Object) -> None:
    """Make an object of the storage version canonical again, in place."""
    fresh = codec.normalise(obj)
    fresh["metadata"] = ordered(fresh["metadata"])
    obj.clear()
    obj.update(fresh)


def _nothing() -> None:
    """Do nothing: an object that ends needs no check."""
