"""Drafts of objects on their way from the request to the store, private to one write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import attrs

from orchtw.apply.managed_fields import with_old_times
from orchtw.errors import BadRequest, Cause, Invalid, NotFound, RequestEntityTooLarge
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.identity import (
    match_live,
    match_name,
    match_namespace,
    match_place,
    own_metadata,
)
from orchtw.registry.stored import Prepared
from orchtw.registry.system_metadata import Stamp, drop_deletion, keep_server_fields, ordered, without_version
from orchtw.registry.target import Target
from orchtw.registry.traits import Sent
from orchtw.registry.write import Transform, Write
from orchtw.schema.codec.json_text import MAX_KEYS, check_parts
from orchtw.schema.validation.metadata import drop_repeated_owners, generate_name
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admission

MAX_STORED_BYTES = 3 << 20
"""Of one object as the store keeps it: as much as a request may bring. Many small patches come to no more."""

Check = Callable[[], None]
"""Refuses an object that is not valid (422), or has validating plugins look at it."""


@attrs.frozen(slots=True)
class DraftChange:
    """One try of an update: the wanted and the live object in the target's version, the live one as a draft."""

    wanted: Object
    shown: Object
    old: Object
    asked_version: str


class Drafts:
    """Draws up new and changed objects: who owns what in them, what the server adds, and whether they are valid.

    It is pure computation on dicts of the write's own, which for large objects is done off the reactor.
    """

    def __init__(self, stamp: Stamp, random: Random, ownership: FieldOwnership) -> None:
        self._stamp = stamp
        self._random = random
        self._ownership = ownership

    def arriving(self, write: Write, obj: Object) -> None:
        """Make a new object what admission sees: in its namespace, with its owners."""
        meta = own_metadata(obj)
        match_namespace(write, meta)
        if meta.get("resourceVersion", "").strip("0"):  # "0" says as little as none
            raise BadRequest("resourceVersion should not be set on objects to be created")
        drop_deletion(meta)
        self._own(write, None, obj)

    def begin_create(self, write: Write, obj: Object, admission: Admission | None) -> tuple[bool, Object, Check]:
        """The draft of the object with what the server makes up; whether that is its name; its check.

        Where nothing is reserved the object has been checked already.
        """
        sent = obj if admission is None else admission.outcome()
        obj = write.target.draft(sent)
        meta = obj["metadata"]
        if admission is not None:
            _warn(write, drop_repeated_owners(meta, admitted=True))
            drop_deletion(meta)
        match_namespace(write, meta)
        if write.name:
            match_name(write, meta)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        if generated:
            meta["name"] = generate_name(meta["generateName"], self._random)
        strategy = write.target.strategy
        strategy.drop_unwritable(obj, None, write.target.resource.version)
        self._stamp.created(meta)
        strategy.prepare_for_create(obj, write.user)
        obj["metadata"] = ordered(meta)
        check = partial(_check_create, write, admission, obj, sent)
        if strategy.reservations is None:
            check()
        return generated, obj, check

    def change(self, write: Write, transform: Transform, live: Entry) -> DraftChange:
        """Return the change that a write makes to the live object, with field owners, as admission sees it."""
        target, old = write.target, write.target.load_draft(live)
        wanted = transform(old if write.whole else target.load(live))
        asked_version = match_live(write, own_metadata(wanted), old["metadata"], live)
        keep_server_fields(wanted["metadata"], old["metadata"])
        shown = old if old["apiVersion"] == target.codec.api_version else target.load(live)
        self._own(write, shown, wanted)
        return DraftChange(wanted, shown, old, asked_version)

    def begin_update(self, write: Write, change: DraftChange, admission: Admission | None) -> tuple[Object, Check]:
        """The draft of the object, in which what the write may not change has been restored; its check.

        Where nothing is reserved the object has been checked already.
        """
        strategy, old = write.target.strategy, change.old
        sent = change.wanted if admission is None else admission.outcome()
        new = write.target.draft(sent)
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
        check = partial(_check_update, write, admission, new, old, sent)
        if strategy.reservations is None:
            check()
        return new, check

    def _subresource(self, write: Write, new: Object, old: Object) -> Object:
        prepared = write.target.strategy.prepare_for_subresource(
            write.subresource, new, old, self._stamp.timestamp()
        )
        if prepared is None:
            raise NotFound.generic()
        if any(new["metadata"].get(key) != prepared["metadata"].get(key) for key in ("name", "namespace")):
            match_place(write, new["metadata"])  # what the sub-resource leaves out is refused all the same
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


def _check_create(write: Write, admission: Admission | None, new: Object, sent: Object) -> None:
    """Refuse a new object that is not valid (422), else show it to validating plugins."""
    strategy = write.target.strategy
    _refuse(write, new, strategy.validate_create(new, Sent(sent, write.target.resource)))
    _warn(write, strategy.warnings(new, None))
    if admission is not None and admission.validates:
        admission.finish(new)


def _check_update(write: Write, admission: Admission | None, new: Object, old: Object, sent: Object) -> None:
    """Refuse a change that is not valid (422), else show it to validating plugins."""
    strategy = write.target.strategy
    _refuse(write, new, strategy.validate_update(new, old, Sent(sent, write.target.resource, write.subresource)))
    if not write.subresource:
        _warn(write, strategy.warnings(new, old))
    if admission is not None and admission.validates:
        admission.finish(new)


def prepared_object(target: Target, obj: Object, live: Entry | None = None) -> Prepared:
    """A draft encoded. Raises RequestEntityTooLarge (413) when it has outgrown the store.

    What is too large already may shrink, so that it can be repaired and deleted.
    """
    prepared = target.prepare(obj)
    size = len(prepared.raw)
    if size > MAX_KEYS and (live is None or size > len(live.raw)):
        if size > MAX_STORED_BYTES:
            raise RequestEntityTooLarge.limit(MAX_STORED_BYTES)
        try:
            check_parts(obj)
        except ValueError as error:
            raise RequestEntityTooLarge(f"Request entity too large: {error}") from None
    return prepared


def prepared_update(target: Target, new: Object, old: Object, live: Entry) -> Prepared | None:
    """The new object encoded; None: it is as the live one, which lies in the store as it would be written."""
    _keep_times(new["metadata"], old["metadata"])
    stored = target.stored
    as_stored = stored.is_current(live) and not stored.cache.outdated(live.key)
    if without_version(new) == without_version(old) and as_stored:
        return None
    return prepared_object(target, new, live)


def _refuse(write: Write, obj: Object, causes: list[Cause]) -> None:
    if causes and not write.own:
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
