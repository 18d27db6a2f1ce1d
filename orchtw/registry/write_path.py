"""The loop that every write goes through: read, change, admit, validate, compare and swap (DESIGN rule 4)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import attrs

from orchtw.admission.chain import Attributes, Chain
from orchtw.apply.managed import with_old_times
from orchtw.errors import (
    AlreadyExists,
    BadRequest,
    Cause,
    Conflict,
    Invalid,
    NotFound,
    RequestEntityTooLarge,
)
from orchtw.objects import Object
from orchtw.registry.metadata import Stamp, drop_deletion, keep_server_fields, ordered, without_version
from orchtw.registry.offload import Offload
from orchtw.registry.ownership import Ownership
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.target import Target
from orchtw.request import UserInfo
from orchtw.rules.metadata import generate_name
from orchtw.rules.options import parse_revision
from orchtw.schema.codec.json_text import MAX_KEYS, check_parts
from orchtw.storage.interface import KeyValue, Op, Store
from orchtw.watch.entry import Entry

MAX_ATTEMPTS = 100
"""Tries of one write against racing writers: 64 writers on one object all get through, a livelock ends."""

MAX_STORED_BYTES = 3 << 20
"""Of one object as the store keeps it: as much as a request may bring. Many small patches come to no more."""


@attrs.frozen(slots=True, kw_only=True)
class Write:
    """Who writes what object, and whether only in appearance.

    `from_live`: the wanted object is made from the live one, so that no kind asks for its resourceVersion.
    `manager` is who comes to own the changed fields; without one ownership stays as it is. `applies`: the wanted
    object is the outcome of a server-side apply, which has settled ownership and may create. `size_bytes`: of what
    was sent, which says with the live object's size how long the write may take.
    """

    target: Target
    namespace: str
    name: str
    user: UserInfo
    subresource: str = ""
    dry_run: bool = False
    from_live: bool = False
    manager: str = ""
    applies: bool = False
    size_bytes: int = 0


@attrs.frozen(slots=True)
class Written:
    """What a write came to: the object's entry, and whether it is new."""

    entry: Entry
    created: bool = False


Transform = Callable[[Object | None], Object]
"""From the live object (None: there is none) in the target's version to the wanted one, in the target's version."""


class WritePath:
    """Creates and updates, against one store.

    Conflicts with writers that were faster are retried inside, from the newer object, unless the wanted
    object names a resourceVersion. Between admission, which may wait for others, and the store, a write is pure
    computation on dicts of its own: of large objects it is done off the reactor.
    """

    def __init__(
        self, store: Store, chain: Chain, stamp: Stamp, random: Random, ownership: Ownership, offload: Offload
    ) -> None:
        self.store = store
        self.ownership = ownership
        self.chain = chain
        self.stamp = stamp
        self.random = random
        self.offload = offload

    async def create(self, write: Write, obj: Object) -> Entry:
        """Store a new object (supplement B1).

        Raises AlreadyExists (409), Invalid (422, a cause per field), Forbidden (403), NotFound (404, the namespace),
        RequestEntityTooLarge (413).
        """
        target, stored, size = write.target, write.target.stored, write.size_bytes
        generated = self._is_generated(obj)
        obj = await self.offload.run(size, lambda: self._arriving(write, obj))
        attributes = self.attributes(write, "CREATE", obj, None)
        await self.chain.admit(attributes)
        await self.offload.run(size, lambda: self._complete_create(write, obj, generated))
        await self.chain.validate(attributes)
        prepared = await self.offload.run(size, lambda: self._prepared(stored, obj))
        if write.dry_run:
            return self._pretend_create(write, prepared)
        outcome = await self.store.commit(Op(stored.prefix + prepared.key, prepared.value, 0, prepared))
        if not outcome.revision:
            refusal = AlreadyExists.generated if generated else AlreadyExists.of
            raise refusal(target.resource.plural, target.resource.group, obj["metadata"]["name"])
        entry = stored.cache.get(prepared.key)
        if entry is None or entry.revision != outcome.revision:
            entry = prepared.entry(outcome.revision)
        return entry

    @staticmethod
    def _is_generated(obj: Object) -> bool:
        meta = obj.get("metadata") or {}
        return not meta.get("name") and bool(meta.get("generateName"))

    def _arriving(self, write: Write, obj: Object) -> Object:
        """A new object as admission sees it: with its owners, as the store keeps it."""
        meta = self._own_metadata(obj)
        self._match_namespace(write, meta)
        if meta.get("resourceVersion"):
            raise BadRequest("resourceVersion should not be set on objects to be created")
        drop_deletion(meta)
        self._own(write, None, obj)
        return write.target.store_form(obj)

    def _complete_create(self, write: Write, obj: Object, generated: bool) -> None:
        """Fill in, after admission, what the server makes up, and refuse what is not valid (422)."""
        strategy, meta = write.target.stored.strategy, obj["metadata"]
        if generated:
            meta["name"] = generate_name(meta["generateName"], self.random)
        strategy.prepare_create(obj, write.user)
        self.stamp.created(meta)
        obj["metadata"] = ordered(meta)
        self._refuse(write, obj, strategy.validate_create(obj))

    @staticmethod
    def _prepared(stored: Stored, obj: Object, live: Entry | None = None) -> Prepared:
        """The object encoded. Raises RequestEntityTooLarge (413) when it has outgrown the store.

        What is too large already may shrink, so that it can be mended and ended.
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
        """Change a stored object, or create it where the kind allows a PUT to create (supplement B2).

        `transform` gets the live object and may be called again when another writer was faster.
        Raises NotFound (404), Conflict (409), Invalid (422), Forbidden (403).
        """
        stored = write.target.stored
        for _ in range(MAX_ATTEMPTS):
            live = stored.get(write.namespace, write.name)
            if live is None:
                written = await self._create_by_update(write, transform)
            else:
                written = await self._try_update(write, transform, live)
            if written is not None:
                return written
        resource = write.target.resource
        raise Conflict.modified(resource.plural, resource.group, write.name)

    async def _create_by_update(self, write: Write, transform: Transform) -> Written | None:
        """The object where there was none; None: another writer was faster and the round may be repeated."""
        resource = write.target.resource
        if write.subresource or not self._may_create(write):
            raise NotFound.of(resource.plural, resource.group, write.name)
        obj = await self.offload.run(write.size_bytes, lambda: transform(None))
        meta = self._own_metadata(obj)
        self._match_name(write, meta)
        if write.applies and meta.get("resourceVersion"):
            raise Conflict.modified(resource.plural, resource.group, write.name)
        if meta.get("uid"):
            raise Conflict.of(
                resource.plural, resource.group, write.name,
                f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: ",
            )
        meta.pop("resourceVersion", None)
        try:
            return Written(await self.create(write, obj), created=True)
        except AlreadyExists:
            return None

    @staticmethod
    def _may_create(write: Write) -> bool:
        return write.applies or write.target.stored.strategy.traits.create_on_update

    async def _try_update(self, write: Write, transform: Transform, live: Entry) -> Written | None:
        """One round of the loop; None: another writer was faster and the round may be repeated."""
        stored, size = write.target.stored, write.size_bytes + len(live.raw)
        new, old, asked_version = await self.offload.run(size, lambda: self._changed(write, transform, live))
        attributes = self.attributes(write, "UPDATE", new, old)
        await self.chain.admit(attributes)
        await self.offload.run(size, lambda: self._complete_update(write, new, old))
        await self.chain.validate(attributes)
        prepared = await self.offload.run(size, lambda: self._prepared_update(stored, new, old, live))
        if prepared is None:
            return Written(live)
        if self._finished(stored, new):
            return await self._remove(write, live, prepared, asked_version)
        if write.dry_run:
            return Written(prepared.entry(live.revision))
        outcome = await self.store.commit(Op(stored.prefix + live.key, prepared.value, live.revision, prepared))
        if not outcome.revision:
            self._lost_race(write, asked_version, outcome.current)
            return None
        entry = stored.cache.get(live.key)
        if entry is None or entry.revision != outcome.revision:
            entry = prepared.entry(outcome.revision)
        return Written(entry)

    def _changed(self, write: Write, transform: Transform, live: Entry) -> tuple[Object, Object, str]:
        """The new and the old object as admission sees them, and the version that was asked for."""
        target, old = write.target, write.target.stored.load(live)
        wanted = transform(target.load(live))
        asked_version = self._check_identity(write, self._own_metadata(wanted), old["metadata"], live)
        keep_server_fields(wanted["metadata"], old["metadata"])
        self._own(write, target.load(live) if target.from_storage else old, wanted)
        new = target.store_form(wanted)
        if write.subresource:
            new = self._subresource(write, new, old)
        return new, old, asked_version

    def _complete_update(self, write: Write, new: Object, old: Object) -> None:
        """Restore, after admission, what an update may not change, and refuse what is not valid (422)."""
        strategy = write.target.stored.strategy
        if not write.subresource:
            strategy.prepare_update(new, old)
        else:
            strategy.keep_metadata(new, old)
        new["metadata"] = ordered(new["metadata"])
        self._refuse(write, new, strategy.validate_update(new, old))

    def _prepared_update(self, stored: Stored, new: Object, old: Object, live: Entry) -> Prepared | None:
        """The new object encoded; None: it is as the live one."""
        self._keep_times(new["metadata"], old["metadata"])
        if without_version(new) == without_version(old):
            return None
        return self._prepared(stored, new, live)

    async def _remove(self, write: Write, live: Entry, prepared: Prepared, asked_version: str) -> Written | None:
        """The update that takes the last finalizer off a terminating object removes it (supplement A12, step 7)."""
        stored = write.target.stored
        if write.dry_run:
            return Written(prepared.entry(live.revision))
        outcome = await self.store.commit(Op(stored.prefix + live.key, None, live.revision))
        if not outcome.revision:
            self._lost_race(write, asked_version, outcome.current)
            return None
        return Written(prepared.entry(outcome.revision))

    @staticmethod
    def _finished(stored: Stored, obj: Object) -> bool:
        meta = obj["metadata"]
        terminating = meta.get("deletionTimestamp") and not meta.get("deletionGracePeriodSeconds")
        return bool(terminating) and not meta.get("finalizers") and not stored.strategy.holds_removal(obj)

    def _lost_race(self, write: Write, asked_version: str, current: KeyValue | None) -> None:
        resource = write.target.resource
        if asked_version:
            raise Conflict.modified(resource.plural, resource.group, write.name)
        if current is None and not self._may_create(write):
            raise NotFound.of(resource.plural, resource.group, write.name)

    def _subresource(self, write: Write, new: Object, old: Object) -> Object:
        prepared = write.target.stored.strategy.prepare_subresource(
            write.subresource, new, old, self.stamp.timestamp()
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
            fields = self.ownership.of(write.target, write.subresource)
            owners = fields.on_update(live, wanted, write.manager, self.stamp.timestamp())
        _set_owners(wanted["metadata"], owners)

    @staticmethod
    def _keep_times(new: Object, old: Object) -> None:
        """A time alone is no change (supplement B6)."""
        _set_owners(new, with_old_times(new.get("managedFields"), old.get("managedFields")))

    def _check_identity(self, write: Write, new: Object, old: Object, live: Entry) -> str:
        """Names, UID and version of an update against the live object; returns the version that was asked for."""
        resource = write.target.resource
        self._match_name(write, new)
        if resource.namespaced:
            if new.get("namespace", "") not in ("", write.namespace):
                raise BadRequest(
                    f"the namespace of the object ({new['namespace']}) does not match "
                    f"the namespace on the request ({write.namespace})"
                )
            new["namespace"] = write.namespace
        if new.get("uid") and new["uid"] != old["uid"]:
            raise Conflict.of(
                resource.plural, resource.group, write.name,
                f"Precondition failed: UID in precondition: {new['uid']}, UID in object meta: {old['uid']}",
            )
        return self._check_version(write, new.get("resourceVersion", ""), live)

    def _check_version(self, write: Write, version: str, live: Entry) -> str:
        resource = write.target.resource
        if not version:
            if not (write.from_live or write.target.stored.strategy.traits.unconditional_update):
                cause = Cause("FieldValueInvalid", "Invalid value: 0x0: must be specified for an update",
                              "metadata.resourceVersion")
                raise Invalid.of(resource.plural, resource.group, write.name, [cause])
            return ""
        try:
            revision = parse_revision(version)
        except ValueError as error:
            raise BadRequest(str(error)) from None
        if revision != live.revision:
            raise Conflict.modified(resource.plural, resource.group, write.name)
        return version

    def _pretend_create(self, write: Write, prepared: Prepared) -> Entry:
        """What a dry-run create answers: the object without a version, unless the name is taken."""
        resource = write.target.resource
        if write.target.stored.cache.get(prepared.key) is not None:
            raise AlreadyExists.of(resource.plural, resource.group, prepared.obj["metadata"]["name"])
        return prepared.unstored()

    @staticmethod
    def _own_metadata(obj: Object) -> Object:
        meta: Object = obj.setdefault("metadata", {})
        return meta

    @staticmethod
    def _match_name(write: Write, meta: Object) -> None:
        if not meta.get("name"):
            if not write.applies:
                raise BadRequest(
                    f"the name of the object ({write.name} based on URL) was undeterminable: name must be provided"
                )
        elif meta["name"] != write.name:
            text = f"the name of the object ({meta['name']}) does not match the name on the URL ({write.name})"
            raise BadRequest(text)
        meta["name"] = write.name

    @staticmethod
    def _match_namespace(write: Write, meta: Object) -> None:
        if not write.target.resource.namespaced:
            return
        if meta.get("namespace", "") not in ("", write.namespace):
            raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = write.namespace

    @staticmethod
    def attributes(write: Write, operation: str, obj: Object | None, old: Object | None) -> Attributes:
        """What admission plugins see of this write; on a collection the name is the object's own, if it has one."""
        return Attributes(
            operation=operation,
            resource=write.target.resource,
            namespace=write.namespace,
            name=write.name or ("" if obj is None else obj["metadata"].get("name", "")),
            user=write.user,
            subresource=write.subresource,
            obj=obj,
            old=old,
            dry_run=write.dry_run,
        )

    @staticmethod
    def _refuse(write: Write, obj: Object, causes: list[Cause]) -> None:
        if causes:
            resource = write.target.resource
            meta: dict[str, Any] = obj["metadata"]
            name = meta.get("name") or meta.get("generateName", "")
            raise Invalid.of(resource.kind, resource.group, name, causes)


def _set_owners(meta: Object, owners: list[Object] | None) -> None:
    """Put metadata.managedFields in its place, which is the last, or take it away."""
    meta.pop("managedFields", None)
    if owners:
        meta["managedFields"] = owners
