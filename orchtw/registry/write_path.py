"""The loop of every write: read, change, admit, reserve, validate, compare and swap (reference WRITE-2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from orchtw.apply.field_manager import FieldManager
from orchtw.apply.managed_fields import with_old_times
from orchtw.errors import AlreadyExists, BadRequest, Cause, Conflict, Invalid, NotFound, RequestEntityTooLarge
from orchtw.objects import Object
from orchtw.registry.admissions import Admission, Admissions, Submission
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.identity import (
    match_live,
    match_name,
    match_namespace,
    modified,
    other_uid,
    own_metadata,
)
from orchtw.registry.offload import Offload
from orchtw.registry.reservations import Hold
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.system_metadata import Stamp, drop_deletion, keep_server_fields, ordered, without_version
from orchtw.registry.target import Target
from orchtw.registry.traits import Sent
from orchtw.registry.write import Transform, Write, Written
from orchtw.rules.metadata import drop_repeated_owners, generate_name
from orchtw.rules.options import DeleteOptions
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.codec.json_text import MAX_KEYS, check_parts
from orchtw.storage.freshness import MOST_RECENT
from orchtw.storage.interface import KeyValue, Op, Outcome, Store
from orchtw.watch.entry import Entry

MAX_ATTEMPTS = 100
"""Tries of one write against racing writers: 64 writers on one object all get through, a livelock ends."""

MAX_STORED_BYTES = 3 << 20
"""Of one object as the store keeps it: as much as a request may bring. Many small patches come to no more."""


Check = Callable[[], None]
"""Refuses an object that is not valid (422), or has validating plugins look at it."""


@attrs.frozen(slots=True)
class _Change:
    """One try of an update: the wanted and the live object in the target's version, the live one as it is stored."""

    wanted: Object
    shown: Object
    old: Object
    asked_version: str


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
    ) -> None:
        self._store = store
        self._admissions = admissions
        self._stamp = stamp
        self._random = random
        self._ownership = ownership
        self._run = offload.run

    def now(self) -> float:
        """The time that goes into objects, in seconds since the epoch."""
        return self._stamp.now()

    def timestamp(self) -> str:
        """The same as metadata holds it."""
        return self._stamp.timestamp()

    def field_manager(self, target: Target, subresource: str) -> FieldManager:
        """Who owns which field at an endpoint."""
        return self._ownership.of(target, subresource)

    async def permit(self, asked: Submission, codec: KindCodec) -> Object:
        """See `Admissions.permit`: the admission of a request whose own object is not stored."""
        return await self._admissions.permit(asked, codec)

    async def create(self, write: Write, obj: Object) -> Entry:
        """Store a new object (reference WRITE-5).

        Raises AlreadyExists (409), Invalid (422, a cause per field), Forbidden (403), NotFound (404, the namespace),
        RequestEntityTooLarge (413).
        """
        stored, size = write.target.stored, write.size_bytes
        await self._run(size, lambda: self._arriving(write, obj))
        admission = self._admissions.of(write, "CREATE", obj, None, size)
        if admission is not None:
            await admission.admit()
        generated, new, check = await self._run(size, lambda: self._begin_create(write, obj, admission))
        hold = await self._reserve(write, size, new, None, check)
        try:
            if admission is not None and admission.validates:
                await admission.validate()
            prepared = await self._run(size, lambda: self._prepared(stored, new))
            if write.dry_run:
                if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                    await wait
                return self._pretend_create(write, prepared)
            op = Op(stored.prefix + prepared.key, prepared.value, 0, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(op, hold)
        finally:
            if hold is not None:
                hold.end()
        if not outcome.revision:
            raise self._exists(write, prepared, generated=generated)
        return self._entry(stored, prepared, outcome.revision)

    def _arriving(self, write: Write, obj: Object) -> None:
        """Make a new object what admission sees: in its namespace, with its owners."""
        meta = own_metadata(obj)
        match_namespace(write, meta)
        if meta.get("resourceVersion"):
            raise BadRequest("resourceVersion should not be set on objects to be created")
        drop_deletion(meta)
        self._own(write, None, obj)

    def _begin_create(self, write: Write, obj: Object, admission: Admission | None) -> tuple[bool, Object, Check]:
        """The object as the store keeps it, with what the server makes up; whether that is its name; its check.

        Where nothing is reserved the object has been checked already.
        """
        sent = obj if admission is None else admission.outcome()
        obj = write.target.store_form(sent)
        meta = obj["metadata"]
        if admission is not None:
            _warn(write, drop_repeated_owners(meta, admitted=True))
        match_namespace(write, meta)
        if write.name:
            match_name(write, meta)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        if generated:
            meta["name"] = generate_name(meta["generateName"], self._random)
        strategy = write.target.stored.strategy
        strategy.drop_unwritable(obj, None, write.target.resource.version)
        self._stamp.created(meta)
        strategy.prepare_for_create(obj, write.user)
        obj["metadata"] = ordered(meta)
        check = partial(self._check_create, write, admission, obj, sent)
        if strategy.reservations is None:
            check()
        return generated, obj, check

    @staticmethod
    def _check_create(write: Write, admission: Admission | None, new: Object, sent: Object) -> None:
        """Refuse a new object that is not valid (422), else show it to validating plugins."""
        strategy = write.target.stored.strategy
        _refuse(write, new, strategy.validate_create(new, Sent(sent, write.target.resource)))
        _warn(write, strategy.warnings(new, None))
        if admission is not None and admission.validates:
            admission.finish(new)

    @staticmethod
    def _exists(write: Write, prepared: Prepared, *, generated: bool) -> AlreadyExists:
        resource = write.target.resource
        refusal = AlreadyExists.generated if generated else AlreadyExists.of
        return refusal(resource.plural, resource.group, prepared.obj["metadata"]["name"])

    @staticmethod
    def _prepared(stored: Stored, obj: Object, live: Entry | None = None) -> Prepared:
        """The object encoded. Raises RequestEntityTooLarge (413) when it has outgrown the store.

        What is too large already may shrink, so that it can be repaired and deleted.
        """
        prepared = stored.prepare(obj)
        size = len(prepared.raw)
        if size > MAX_KEYS and (live is None or size > len(live.raw)):
            if size > MAX_STORED_BYTES:
                raise RequestEntityTooLarge.limit(MAX_STORED_BYTES)
            try:
                check_parts(obj)
            except ValueError as error:
                raise RequestEntityTooLarge(f"Request entity too large: {error}") from None
        return prepared

    async def update(self, write: Write, transform: Transform) -> Written:
        """Change a stored object, or create it where the kind allows a PUT to create (reference WRITE-9, WRITE-10).

        `transform` gets the live object and may be called again when another writer was faster.
        Raises NotFound (404), Conflict (409), Invalid (422), Forbidden (403).
        """
        stored = write.target.stored
        for _ in range(MAX_ATTEMPTS):
            if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                await wait
            live = stored.get(write.namespace, write.name)
            if live is None:
                written = await self._create_by_update(write, transform)
            else:
                written = await self._try_update(write, transform, live)
            if written is not None:
                return written
        raise modified(write)

    async def _create_by_update(self, write: Write, transform: Transform) -> Written | None:
        """The object where there was none; None: another writer was faster and the round may be repeated."""
        resource = write.target.resource
        if write.subresource or not _may_create(write):
            raise NotFound.of(resource.plural, resource.group, write.name)
        obj = await self._run(write.size_bytes, lambda: transform(None))
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
        stored, size = write.target.stored, write.size_bytes + len(live.raw)
        change = await self._run(size, lambda: self._changed(write, transform, live))
        old, asked_version = change.old, change.asked_version
        admission = self._admissions.of(write, "UPDATE", change.wanted, change.shown, size)
        if admission is not None:
            await admission.admit()
        new, check = await self._run(size, lambda: self._begin_update(write, change, admission))
        hold = await self._reserve(write, size, new, old, check)
        try:
            if admission is not None and admission.validates:
                await admission.validate()
            prepared = await self._run(size, lambda: self._prepared_update(stored, new, old, live))
            if prepared is None:
                return Written(live)
            if _is_finished(stored, new):
                return await self._remove_finished(write, live, old, prepared, asked_version, hold)
            if write.dry_run:
                return Written(prepared.entry(live.revision))
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(op, hold)
        finally:
            if hold is not None:
                hold.end()
        if not outcome.revision:
            _lost_race(write, asked_version, outcome.current)
            return None
        return Written(self._entry(stored, prepared, outcome.revision))

    def _changed(self, write: Write, transform: Transform, live: Entry) -> _Change:
        """What the write wants to make of the live object, with its owners, as admission sees it."""
        target, old = write.target, write.target.stored.load(live)
        wanted = transform(target.load(live))
        asked_version = match_live(write, own_metadata(wanted), old["metadata"], live)
        keep_server_fields(wanted["metadata"], old["metadata"])
        shown = target.load(live) if target.from_storage else old
        self._own(write, shown, wanted)
        return _Change(wanted, shown, old, asked_version)

    def _begin_update(
        self, write: Write, change: _Change, admission: Admission | None
    ) -> tuple[Object, Check]:
        """The object as the store keeps it, in which what the write may not change has been restored; its check.

        Where nothing is reserved the object has been checked already.
        """
        strategy, old = write.target.stored.strategy, change.old
        sent = change.wanted if admission is None else admission.outcome()
        new = write.target.store_form(sent)
        if admission is not None:
            _warn(write, drop_repeated_owners(new["metadata"], admitted=True))
        if write.subresource:
            new = self._subresource(write, new, old)
            strategy.keep_metadata(new, old)
            if write.subresource == "status" and "generation" in old["metadata"]:
                new["metadata"]["generation"] = old["metadata"]["generation"]
        else:
            strategy.drop_unwritable(new, old, write.target.resource.version)
            strategy.prepare_for_update(new, old)
        new["metadata"] = ordered(new["metadata"])
        check = partial(self._check_update, write, admission, new, old, sent)
        if strategy.reservations is None:
            check()
        return new, check

    @staticmethod
    def _check_update(
        write: Write, admission: Admission | None, new: Object, old: Object, sent: Object
    ) -> None:
        """Refuse a change that is not valid (422), else show it to validating plugins."""
        strategy = write.target.stored.strategy
        _refuse(write, new, strategy.validate_update(new, old, Sent(sent, write.target.resource, write.subresource)))
        if not write.subresource:
            _warn(write, strategy.warnings(new, old))
        if admission is not None and admission.validates:
            admission.finish(new)

    def _prepared_update(self, stored: Stored, new: Object, old: Object, live: Entry) -> Prepared | None:
        """The new object encoded; None: it is as the live one."""
        _keep_times(new["metadata"], old["metadata"])
        if without_version(new) == without_version(old):
            return None
        return self._prepared(stored, new, live)

    async def _remove_finished(
        self, write: Write, live: Entry, old: Object, prepared: Prepared, asked_version: str, hold: Hold | None
    ) -> Written | None:
        """The update that takes the last finalizer off a terminating object removes it (reference DEL-11)."""
        if hold is not None:
            hold.end()
        outcome = await self.remove(write, live, old)
        if not outcome.revision:
            _lost_race(write, asked_version, outcome.current)
            return None
        return Written(prepared.entry(outcome.revision))

    def _subresource(self, write: Write, new: Object, old: Object) -> Object:
        prepared = write.target.stored.strategy.prepare_for_subresource(
            write.subresource, new, old, self._stamp.timestamp()
        )
        if prepared is None:
            raise NotFound.generic()
        prepared["metadata"] = dict(prepared["metadata"])
        _set_owners(prepared["metadata"], new["metadata"].get("managedFields"))
        return prepared

    def _own(self, write: Write, live: Object | None, wanted: Object) -> None:
        """Complete `wanted` and record in it who owns what it changes; an apply has done both already."""
        if write.applies:
            return
        write.target.complete(wanted)
        owners = None if live is None else live["metadata"].get("managedFields")
        if write.manager:
            fields = self._ownership.of(write.target, write.subresource)
            owners = fields.on_update(live, wanted, write.manager, self._stamp.timestamp())
        _set_owners(wanted["metadata"], owners)

    def _pretend_create(self, write: Write, prepared: Prepared) -> Entry:
        """What a dry-run create answers: the object without a version, unless the name is taken."""
        if write.target.stored.cache.get(prepared.key) is not None:
            raise self._exists(write, prepared, generated=False)
        return prepared.dry_run_entry()

    async def load(self, write: Write, live: Entry) -> Object:
        """The object of a deletion in the storage version, for its own use."""
        return await self._run(len(live.raw), lambda: write.target.stored.load(live))

    async def admit_delete(self, write: Write, live: Entry, old: Object, options: DeleteOptions) -> None:
        """Ask admission about the deletion of `old`, the live object. Raises what plugins raise."""
        await self._admissions.deleting(write, old, options, len(live.raw))

    async def terminate(self, write: Write, live: Entry, new: Object, old: Object) -> Entry | None:
        """Store `new`, the live object with the marks of its termination; None: another writer was faster."""
        stored, size = write.target.stored, len(live.raw)
        hold = await self._reserve(write, size, new, old, _nothing)
        try:
            prepared = await self._run(size, lambda: stored.prepare(new))
            if write.dry_run:
                return prepared.entry(live.revision)
            op = Op(stored.prefix + live.key, prepared.value, live.revision, prepared, stored.strategy.ttl_s)
            outcome = await self._commit(op, hold)
        finally:
            if hold is not None:
                hold.end()
        return prepared.entry(outcome.revision) if outcome.revision else None

    async def remove(self, write: Write, live: Entry, old: Object | None) -> Outcome:
        """Remove the live object, unless another writer was faster; a dry run answers with the live revision.

        `old` is the object in the storage version; None: it cannot be read, and what it held stays to be found out.
        """
        if write.dry_run:
            return Outcome(live.revision)
        hold = None if old is None else await self._reserve(write, len(live.raw), None, old, _nothing)
        return await self._commit(Op(write.target.stored.prefix + live.key, None, live.revision), hold)

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

    def _commit(self, op: Op, hold: Hold | None) -> Deferred[Outcome]:
        return self._store.commit(op) if hold is None else hold.commit(self._store, op)

    @staticmethod
    def _entry(stored: Stored, prepared: Prepared, revision: int) -> Entry:
        """The entry that the cache made of the commit, or one of our own where a later write has replaced it."""
        entry = stored.cache.get(prepared.key)
        return prepared.entry(revision) if entry is None or entry.revision != revision else entry


def _may_create(write: Write) -> bool:
    return write.applies or write.target.stored.strategy.traits.create_on_update


def _is_finished(stored: Stored, obj: Object) -> bool:
    meta = obj["metadata"]
    terminating = meta.get("deletionTimestamp") and not meta.get("deletionGracePeriodSeconds")
    return bool(terminating) and not meta.get("finalizers") and not stored.strategy.holds_removal(obj)


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


def _refuse(write: Write, obj: Object, causes: list[Cause]) -> None:
    if causes:
        resource = write.target.resource
        meta: dict[str, Any] = obj["metadata"]
        name = meta.get("name") or meta.get("generateName", "")
        raise Invalid.of(resource.kind, resource.group, name, causes)


def _warn(write: Write, warnings: list[str]) -> None:
    if warnings and write.request is not None:
        write.request.warnings += warnings


def _keep_times(new: Object, old: Object) -> None:
    """A time alone is no change (reference APPLY-23)."""
    _set_owners(new, with_old_times(new.get("managedFields"), old.get("managedFields")))


def _set_owners(meta: Object, owners: list[Object] | None) -> None:
    """Put metadata.managedFields in its place, which is the last, or take it away."""
    meta.pop("managedFields", None)
    if owners:
        meta["managedFields"] = owners


def _nothing() -> None:
    """There is nothing to check of an object that ends."""
