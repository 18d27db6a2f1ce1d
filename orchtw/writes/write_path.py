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
from orchtw.registry.converting import run_converting
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.identity import (
    match_name,
    modified,
    other_uid,
    own_metadata,
)
from orchtw.registry.offload import Offload
from orchtw.registry.permissions import Permissions
from orchtw.registry.reservations import Hold
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.system_metadata import Stamp, ordered
from orchtw.registry.target import Target
from orchtw.registry.write import Transform, Write, Written
from orchtw.rules.options import DeleteOptions
from orchtw.schema.codec.codecs import KindCodec
from orchtw.storage.freshness import MOST_RECENT
from orchtw.storage.interface import KeyValue, Op, Store, WriteOutcome
from orchtw.storage.metrics import StoreTimes
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admission, Admissions, Settle, Submission, as_it_is
from orchtw.writes.drafts import Check, Drafts, prepared_object, prepared_update

T = TypeVar("T")

MAX_ATTEMPTS = 100
"""Tries of one write against racing writers: 64 writers on one object all get through, a livelock ends."""


class WritePath:
    """Creates, updates and removals, against one store.

    Conflicts with writers that were faster are retried inside, from the newer object, unless the wanted
    object names a resourceVersion. Between admission, which may wait for others, and the store, a write is pure
    computation on dicts of its own: of large objects it is done off the reactor.
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
    ) -> None:
        self._store = store
        self._times = times or StoreTimes(Registry())
        self._permissions = permissions
        self._admissions = admissions
        self._stamp = stamp
        self._ownership = ownership
        self._drafts = Drafts(stamp, random, ownership)
        self._offload = offload

    def now(self) -> float:
        """The time that goes into objects, in seconds since the epoch."""
        return self._stamp.now()

    def timestamp(self) -> str:
        """The same as metadata holds it."""
        return self._stamp.timestamp()

    def field_manager(self, target: Target, subresource: str) -> FieldManager:
        """Return the field manager of a target's endpoint."""
        return self._ownership.of(target, subresource)

    async def read(self, target: Target, entry: Entry) -> Object:
        """Return a stored object in the version of the target."""
        return await self._run(len(entry.raw), lambda: target.load(entry))

    async def permit(self, asked: Submission, codec: KindCodec, settle: Settle = as_it_is) -> Object:
        """See `Admissions.permit`: the admission of a request whose own object is not stored."""
        return await self._admissions.permit(asked, codec, settle)

    async def create(self, write: Write, obj: Object) -> Entry:
        """Store a new object (reference WRITE-5).

        Raises AlreadyExists (409), Invalid (422, a cause per field), Forbidden (403), NotFound (404, the namespace),
        RequestEntityTooLarge (413), MethodNotAllowed (405, nothing new is stored any more).
        """
        target, stored = write.target, write.target.stored
        size = target.codec.work_bytes(write.size_bytes)
        _check_open(stored)
        await self._run(size, partial(self._drafts.arriving, write, obj))
        size = target.strategy.work_bytes(obj, size)
        admission = self._admissions.of(write, "CREATE", obj, None, size)
        if admission is not None:
            await admission.admit()
            write.step("Admission changed what it wanted to")
        await self._check_grants(write, size, obj, None, admission)
        generated, new, check = await self._run(size, partial(self._drafts.begin_create, write, obj, admission))
        hold = await self._reserve(write, size, new, None, check)
        try:
            if admission is not None and admission.validates:
                await admission.validate()
                write.step("Admission agreed")
            prepared = await self._run(size, partial(prepared_object, target, new))
            draft = target.for_writer(new)
            del obj, new, check  # what waits for the disk are bytes: see `Prepared`
            _release(admission)
            if write.dry_run:
                if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                    await wait
                return target.as_written(await self._pretend_create(write, prepared, generated=generated), draft)
            _check_open(stored)  # again: nothing comes into a collection after it was closed
            op = Op(stored.prefix + prepared.key, prepared.value, 0, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            _end(hold, admission)
        if not outcome.revision:
            raise await self._exists(write, prepared, generated=generated)
        return target.as_written(self._entry(stored, prepared, outcome.revision), draft)

    async def _exists(self, write: Write, prepared: Prepared, *, generated: bool) -> AlreadyExists:
        """Why there is no create; it says so if the object that has the name is about to go (reference ERR-6)."""
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
                await self._acknowledge(write, written)
                return written
        raise modified(write)

    async def _acknowledge(self, write: Write, written: Written) -> None:
        """Wait until a client's change of an object holds on this server, if that may be later than it is stored."""
        in_force = write.target.stored.in_force
        if in_force is not None and write.request is not None and not (write.subresource or write.dry_run):
            await in_force(written.entry)
            write.step("Object in force")

    async def discard(self, stored: Stored, key: str, revision: int) -> None:
        """Remove an object that cannot be read, unless it has changed: what it was, nobody can be asked about."""
        await self._store.commit(Op(stored.prefix + key, None, revision))

    async def stored_now(self, stored: Stored, namespace: str, name: str) -> Entry | None:
        """The object as the store has it, for a write that goes on while its resource is exchanged for another."""
        key = stored.tail(namespace, name)
        found = await self._store.get(stored.prefix + key)
        return None if found is None else stored.build(key, found.value, found.revision)

    async def _create_by_update(self, write: Write, transform: Transform) -> Written | None:
        """The object where there was none; None: another writer was faster and the round may be repeated."""
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
            return Written(await self.create(write, obj), created=True)
        except AlreadyExists:
            return None

    async def _try_update(self, write: Write, transform: Transform, live: Entry) -> Written | None:
        """One round of the loop; None: another writer was faster and the round may be repeated."""
        target, stored = write.target, write.target.stored
        size = target.codec.work_bytes(write.size_bytes + len(live.raw))
        change = await self._run(size, partial(self._drafts.change, write, transform, live))
        size = target.strategy.work_bytes(change.wanted, size)
        old, asked_version = change.old, change.asked_version
        admission = self._admissions.of(write, "UPDATE", change.wanted, change.shown, size)
        if admission is not None:
            await admission.admit()
            write.step("Admission changed what it wanted to")
        await self._check_grants(write, size, change.wanted, change.shown, admission)
        new, check = await self._run(size, partial(self._drafts.begin_update, write, change, admission))
        hold = await self._reserve(write, size, new, old, check)
        try:
            if admission is not None and admission.validates:
                await admission.validate()
                write.step("Admission agreed")
            prepared = await self._run(size, partial(prepared_update, target, new, old, live))
            if prepared is None:
                return Written(live)
            if _is_finished(target, new):
                gone = await self._remove_finished(write, live, old, prepared, asked_version, hold)
                return None if gone is None else Written(target.as_written(gone, new))
            draft = target.for_writer(new)
            del change, new, old, check  # as in `create`
            _release(admission)
            if write.dry_run:
                return Written(target.as_written(prepared.entry(live.revision), draft))
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            _end(hold, admission)
        if not outcome.revision:
            _lost_race(write, asked_version, outcome.current)
            return None
        return Written(target.as_written(self._entry(stored, prepared, outcome.revision), draft))

    async def _remove_finished(
        self, write: Write, live: Entry, old: Object, prepared: Prepared, asked_version: str, hold: Hold | None
    ) -> Entry | None:
        """The update that takes the last finalizer off a terminating object removes it (reference DEL-11)."""
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
        """The draft of an object that is to end, for the caller's own use.

        Where nobody is shown it, the object as it lies in the store will do: no webhook can stop its end.
        """
        target = write.target
        load = target.stored.load if write.admitted else target.load_draft
        return await self._run(len(live.raw), lambda: load(live))

    async def admit_delete(self, write: Write, live: Entry, old: Object, options: DeleteOptions) -> None:
        """Ask admission about the deletion of `old`, the live object. Raises what plugins raise."""
        await self._admissions.deleting(write, old, options, len(live.raw))

    async def terminate(self, write: Write, live: Entry, new: Object, old: Object) -> Entry | None:
        """Store `new`, the live object with the marks of its termination; None: another writer was faster."""
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

        `old` is the draft of the object; None: it cannot be read, and what it held stays to be found out.
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
        """Refuse what would give rights away that the writer may not give (reference AUTHZ-20)."""
        permissions = self._permissions
        if permissions is None or not permissions.concerns(write):
            return
        new = wanted if admission is None else await self._run(size, admission.outcome)
        await permissions.granting(write, new, live)

    async def _reserve(
        self, write: Write, size: int, new: Object | None, old: Object | None, check: Check
    ) -> Hold | None:
        """Reserve what the write takes, then `check`; None where the kind takes nothing: it has been checked."""
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
        """Hand `op` to the store, if the writer may still write by now. Raises Fenced (503)."""
        began = perf_counter()
        try:
            op = write.guarded(op)
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
        """The entry that the cache made of the commit, or one of our own where a later write has replaced it."""
        entry = stored.cache.get(prepared.key)
        return prepared.entry(revision) if entry is None or entry.revision != revision else entry


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
    """Another writer was faster: the round may be repeated, unless the outcome is known already (409, 404)."""
    resource = write.target.resource
    if asked_version:
        raise Conflict.modified(resource.plural, resource.group, write.name)
    if current is None and not _may_create(write):
        raise NotFound.of(resource.plural, resource.group, write.name)


def _canonical(codec: KindCodec, obj: Object) -> None:
    """Make an object of the storage version canonical again, in place."""
    fresh = codec.normalise(obj)
    fresh["metadata"] = ordered(fresh["metadata"])
    obj.clear()
    obj.update(fresh)


def _nothing() -> None:
    """There is nothing to check of an object that ends."""
