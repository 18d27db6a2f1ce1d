"""Drafts of objects on their way from the request to the store, private to one write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import msgspec

from orchtw.errors import BadRequest, Cause, Invalid, NotFound, ObjectTooLarge, RequestEntityTooLarge
from orchtw.registry.at_rest import Replaced
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.metadata import ordered
from orchtw.registry.sharing import is_intact, may_share, view_of
from orchtw.registry.stored import Prepared
from orchtw.registry.target import Target
from orchtw.registry.traits import Sent
from orchtw.registry.write import Transform, Write
from orchtw.schema.codec.json_text import MAX_KEYS, check_parts
from orchtw.schema.validation.metadata import drop_repeated_owners
from orchtw.values.generate_name import generate_name
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admission
from orchtw.writes.identity import (
    match_live,
    match_name,
    match_namespace,
    match_place,
    own_metadata,
)
from orchtw.writes.metadata import Stamp, drop_deletion, keep_server_fields, keep_times, set_owners, without_version

MAX_STORED_BYTES = 3 << 20
"""Bytes of one object as stored: as many as a request may bring, so that many small patches exceed it neither."""

Check = Callable[[], None]
"""Rejects an invalid object (422), then has the validating plugins check it."""


class DraftChange(msgspec.Struct, frozen=True):
    """One attempt of an update: the wanted and the live object in the target's version, the live one as a draft."""

    wanted: Object
    shown: Object
    old: Object
    asked_version: str


class Drafts:
    """Preparation of new and changed objects: field owners, the server's additions, and validation.

    It is pure computation on dicts of the write's own, which for large objects is done off the reactor. A name that
    is generated is one of at most `names`, the first that is free.
    """

    def __init__(self, stamp: Stamp, random: Random, ownership: FieldOwnership, names: int = 1) -> None:
        self._names = names
        self._stamp = stamp
        self._random = random
        self._ownership = ownership

    def arriving(self, write: Write, obj: Object) -> None:
        """Prepare a new object for admission: in its namespace, with its field owners."""
        meta = own_metadata(obj)
        match_namespace(write, meta)
        if meta.get("resourceVersion", "").strip("0"):  # "0" says as little as none
            if not write.dry_run:
                raise BadRequest("resourceVersion should not be set on objects to be created")
            del meta["resourceVersion"]  # the reference's store refuses it, and dry runs do not reach that
        drop_deletion(meta)
        self._own(write, None, obj)

    def begin_create(self, write: Write, obj: Object, admission: Admission | None) -> tuple[bool, Object, Check]:
        """Return whether the name is generated, the draft with the server's additions, and its check.

        If the kind reserves nothing, the object has been checked already.
        """
        sent = obj if admission is None else admission.outcome()
        obj = write.target.draft(sent)
        meta = obj["metadata"]
        if write.unowned:
            set_owners(meta, None)
        if admission is not None:
            _warn(write, drop_repeated_owners(meta, admitted=True))
            drop_deletion(meta)
        match_namespace(write, meta)
        if write.name:
            match_name(write, meta)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        if generated:
            meta["name"] = self._new_name(write, meta["generateName"])
        strategy = write.target.strategy
        strategy.drop_unwritable(obj, None, write.target.resource.version)
        strategy.drop_dormant(obj, None)
        self._stamp.created(meta)
        strategy.prepare_for_create(obj, write.user)
        obj["metadata"] = ordered(meta)
        check = partial(_check_create, write, admission, obj, sent)
        if strategy.reservations is None:
            check()
        return generated, obj, check

    def _new_name(self, write: Write, prefix: str) -> str:
        """Return a name for a new object. That it is free now spares the write another round (reference WRITE-30)."""
        stored = write.target.stored
        name = generate_name(prefix, self._random)
        for _ in range(self._names - 1):
            if not stored.cache.holds(stored.tail(write.namespace, name)):
                break
            name = generate_name(prefix, self._random)
        return name

    def change(self, write: Write, transform: Transform, live: Entry) -> DraftChange:
        """Return the change that a write makes to the live object, with field owners, as admission sees it."""
        target, at_hand = write.target, write.at_hand.take(live)
        if at_hand is not None or (write.shares and may_share(target, live)):
            old = target.take_draft(live) if at_hand is None else at_hand
            warned = 0 if write.request is None else len(write.request.warnings)
            change = self._changed(write, transform(view_of(old)), old, live)
            if is_intact(old, target, live):
                return change
            # The stored object lacks defaults: in parts that both have they were filled in on both sides.
            if write.request is not None:
                del write.request.warnings[warned:]
        old = target.load_draft(live)
        return self._changed(write, transform(old if write.whole else target.load(live)), old, live)

    def _changed(self, write: Write, wanted: Object, old: Object, live: Entry) -> DraftChange:
        target = write.target
        asked_version = match_live(write, own_metadata(wanted), old["metadata"], live)
        keep_server_fields(wanted["metadata"], old["metadata"])
        shown = old if old["apiVersion"] == target.codec.api_version else target.load(live)
        self._own(write, shown, wanted)
        return DraftChange(wanted, shown, old, asked_version)

    def begin_update(self, write: Write, change: DraftChange, admission: Admission | None) -> tuple[Object, Check]:
        """Return the draft, in which fields that the write may not change are restored, and its check.

        If the kind reserves nothing, the object has been checked already.
        """
        strategy, old = write.target.strategy, change.old
        sent = change.wanted if admission is None else admission.outcome()
        new = write.target.draft(sent)
        if write.unowned:
            set_owners(new["metadata"], None)
        if admission is not None:
            _warn(write, drop_repeated_owners(new["metadata"], admitted=True))
        strategy.drop_dormant(new, old)
        if write.subresource:
            new = self._subresource(write, new, old)
            keep_server_fields(new["metadata"], old["metadata"])
            strategy.keep_metadata(new, old)
            if write.subresource == "status" and "generation" in old["metadata"]:
                new["metadata"]["generation"] = old["metadata"]["generation"]
        else:
            strategy.drop_unwritable(new, old, write.target.resource.version)
            keep_server_fields(new["metadata"], old["metadata"])
            strategy.prepare_for_update(new, old)
        new["metadata"] = ordered(new["metadata"])
        check = partial(_check_update, write, admission, new, old, sent)
        if strategy.reservations is None:
            check()
        return new, check

    def _subresource(self, write: Write, new: Object, old: Object) -> Object:
        prepared = write.target.strategy.prepare_for_subresource(write.subresource, new, old, self._stamp.timestamp())
        if prepared is None:
            raise NotFound.generic()
        if any(new["metadata"].get(key) != prepared["metadata"].get(key) for key in ("name", "namespace")):
            match_place(write, new["metadata"])  # what the sub-resource leaves out is refused all the same
        prepared["metadata"] = dict(prepared["metadata"])
        set_owners(prepared["metadata"], new["metadata"].get("managedFields"))
        return prepared

    def _own(self, write: Write, live: Object | None, wanted: Object) -> None:
        """Complete `wanted` and record the owners of its changed fields; an apply has done both already."""
        if write.applies:
            return
        write.target.complete(wanted)
        owners = None if live is None else live["metadata"].get("managedFields")
        if write.manager:
            fields = self._ownership.of(write.target, write.subresource)
            owners = fields.on_update(live, wanted, write.manager, self._stamp.timestamp())
        set_owners(wanted["metadata"], owners)


def _check_create(write: Write, admission: Admission | None, new: Object, sent: Object) -> None:
    """Check a new object: raises Invalid (422), else shows it to validating plugins."""
    strategy = write.target.strategy
    _refuse(write, new, strategy.validate_create(new, Sent(sent, write.target.resource)))
    _warn(write, strategy.warnings(new, None))
    if admission is not None and admission.validates:
        admission.finish(new)


def _check_update(write: Write, admission: Admission | None, new: Object, old: Object, sent: Object) -> None:
    """Check a changed object: raises Invalid (422), else shows it to validating plugins."""
    strategy = write.target.strategy
    causes = strategy.validate_update(new, old, Sent(sent, write.target.resource, write.subresource))
    if causes:
        _warn(write, strategy.excused(new, old))
    _refuse(write, new, causes)
    if not write.subresource:
        _warn(write, strategy.warnings(new, old))
    elif write.subresource == "status":
        _warn(write, strategy.excused(new, old))
    if admission is not None and admission.validates:
        admission.finish(new)


def prepared_object(target: Target, obj: Object, live_bytes: int = 0, replaced: Replaced | None = None) -> Prepared:
    """Return a draft encoded. Raises ObjectTooLarge (413) when it is too large for the store, RequestEntityTooLarge
    (413) when it has too many parts.

    An object that is too large already, of `live_bytes`, may shrink, so that it can be repaired and deleted.
    `replaced` is that of `Target.prepare`.
    """
    prepared = target.prepare(obj, replaced)
    size = len(prepared.raw)
    if size > MAX_KEYS and size > live_bytes:
        if size > MAX_STORED_BYTES:
            raise ObjectTooLarge.limit(MAX_STORED_BYTES)
        try:
            check_parts(obj)
        except ValueError as error:
            raise RequestEntityTooLarge(f"Request entity too large: {error}") from None
    return prepared


def prepared_update(target: Target, new: Object, old: Object, live: Entry) -> Prepared | None:
    """Return the new object encoded; None: it equals the live one, which is stored in the current form."""
    keep_times(new["metadata"], old["metadata"])
    stored = target.stored
    as_stored = stored.is_current(live) and not stored.cache.outdated(live.key)
    if without_version(new) == without_version(old) and as_stored:
        return None
    return prepared_object(target, new, len(live.raw), (old, live.raw) if as_stored else None)


def _refuse(write: Write, obj: Object, causes: list[Cause]) -> None:
    if causes and not write.own:
        resource = write.target.resource
        meta: dict[str, Any] = obj["metadata"]
        name = meta.get("name") or meta.get("generateName", "")
        raise Invalid.of(resource.kind, resource.group, name, causes)


def _warn(write: Write, warnings: list[str]) -> None:
    if warnings and write.request is not None:
        write.request.warnings += warnings
