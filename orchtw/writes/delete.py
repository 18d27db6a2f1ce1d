"""Deletion: preconditions, finalizers and grace periods, from the request to the removal (reference DEL-4)."""

from __future__ import annotations

from typing import Any

import msgspec

from orchtw.errors import Invalid, NotFound
from orchtw.registry.metadata import ordered
from orchtw.registry.write import Write
from orchtw.rules.delete_options import IGNORE_READ_ERRORS, DeleteOptions
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.resource import DamagedObject
from orchtw.values.causes import invalid
from orchtw.values.times import rfc3339
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.optimistic_lock import modified
from orchtw.writes.propagation import deletion_finalizers
from orchtw.writes.steps import MAX_ATTEMPTS
from orchtw.writes.write_path import WritePath

LONGEST_GRACE_S = (2**63 - 1) // 10**9
"""Longest grace period: 292 years, the longest of Go's durations; a longer one is cut to it."""

_READABLE = "is exclusively used to delete corrupt object(s), try again by removing this option"


class Deleted(msgspec.Struct, frozen=True):
    """Outcome of a delete: the object's last state; `gone`: it has been removed."""

    entry: Entry
    gone: bool


class Deletion:
    """Deletion through the write path's store and admission chain.

    Without a garbage collector (`collects_garbage` False) the finalizers of a propagation policy would never be
    removed, so none are set.
    """

    def __init__(self, writes: WritePath, *, collects_garbage: bool) -> None:
        self._writes = writes
        self._removal = writes.removal
        self._collects_garbage = collects_garbage

    @property
    def restores(self) -> int:
        """Number of times that the state has been restored, for `delete`."""
        return 0 if self._writes.gate is None else self._writes.gate.times_opened

    async def delete(self, write: Write, options: DeleteOptions, restores: int | None = None) -> Deleted:
        """Remove an object, or begin its termination.

        `restores`: their number when the object was found, if that was before. An unreadable object goes at once: it
        is unknown what would hold it. Raises NotFound (404), Conflict (409, a precondition does not hold), Invalid
        (422, read errors are ignored and there are none), DamagedObject (500, a precondition cannot be checked) and
        TooManyRequests (429, the state has been restored since the object was found).
        """
        gate = self._writes.gate
        if gate is None:
            return await self._delete(write, options)

        async def delete() -> Deleted:
            if restores is not None:
                gate.check(restores)
            return await self._delete(write, options)

        return await gate.run(delete)

    async def _delete(self, write: Write, options: DeleteOptions) -> Deleted:
        stored, resource = write.target.stored, write.target.resource
        for _ in range(MAX_ATTEMPTS):
            if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                await wait
            try:
                if stored.cache.closed:
                    live = await self._writes.stored_now(stored, write.namespace, write.name)
                else:
                    live = stored.get(write.namespace, write.name)
            except DamagedObject as damage:
                return await self._remove_damaged(write, options, damage)
            if live is None:
                raise NotFound.of(resource.plural, resource.group, write.name)
            if options.ignore_read_errors:
                cause = invalid(IGNORE_READ_ERRORS, True, _READABLE)
                raise Invalid.of(resource.plural, resource.group, write.name, [cause])
            deleted = await self._try_delete(write, options, live)
            if deleted is not None:
                return deleted
        raise modified(write)

    async def _remove_damaged(self, write: Write, options: DeleteOptions, damage: DamagedObject) -> Deleted:
        if options.precondition_uid is not None or options.precondition_version not in (None, str(damage.revision)):
            raise damage
        stored = write.target.stored
        live = stored.placeholder(write.namespace, write.name, damage.revision)
        await self._removal.admit(write, live, stored.load(live), options)
        deleted = await self._remove(write, live, None)
        if deleted is None:
            raise modified(write)
        return deleted

    async def _try_delete(self, write: Write, options: DeleteOptions, live: Entry) -> Deleted | None:
        """Make one attempt; None: another writer was faster and it may be repeated."""
        # 1. Preconditions come before admission: plugins and webhooks are not asked in vain.
        old = await self._removal.load(write, live)
        self._check_preconditions(write, options, old["metadata"])
        # 2. Admission, which may refuse, but changes nothing.
        await self._removal.admit(write, live, old, options)
        # 3. Finalizers and the grace period: an object that something holds is marked and stays.
        new = self._terminating(write, options, old)
        # 4. Compare and swap, with the revision that was read in 1: removal, or the marks.
        if new is None:
            return await self._remove(write, live, old)
        if new is old:
            return Deleted(live, gone=False)
        entry = await self._removal.terminate(write, live, new, old)
        return None if entry is None else Deleted(entry, gone=False)

    async def _remove(self, write: Write, live: Entry, old: Object | None) -> Deleted | None:
        outcome = await self._removal.remove(write, live, old)
        return Deleted(live, gone=True) if outcome.revision else None

    def _terminating(self, write: Write, options: DeleteOptions, old: Object) -> Object | None:
        """Return the object with its marks of termination; None: nothing holds it; `old` itself: nothing changes."""
        strategy = write.target.strategy
        finalizers = old["metadata"].get("finalizers") or []
        if self._collects_garbage:
            finalizers = deletion_finalizers(write, options, finalizers)
        grace_s = self._grace_s(write, options, old)
        held = bool(finalizers) or strategy.holds_removal(old)
        if not held and grace_s == 0:
            return None
        meta = dict(old["metadata"])
        self._set_finalizers(meta, finalizers)
        first = not meta.get("deletionTimestamp")
        if first or grace_s < (meta.get("deletionGracePeriodSeconds") or 0):
            meta["deletionTimestamp"] = rfc3339(int(self._writes.now()) + min(grace_s, LONGEST_GRACE_S))
            meta["deletionGracePeriodSeconds"] = grace_s
        if first and meta.get("generation"):
            meta["generation"] += 1
        if meta == old["metadata"]:
            return old
        new = {**old, "metadata": ordered(meta)}
        if first:
            strategy.begin_termination(new)
        return new

    def _grace_s(self, write: Write, options: DeleteOptions, old: Object) -> int:
        """Return the seconds left to live; a repeated delete may only shorten them (reference DEL-7)."""
        asked_s = options.grace_period_s
        if old["metadata"].get("deletionTimestamp") and asked_s is None:
            return int(old["metadata"].get("deletionGracePeriodSeconds") or 0)
        grace_s = write.target.strategy.grace_period_s(old, asked_s)
        pending_s = old["metadata"].get("deletionGracePeriodSeconds")
        return grace_s if pending_s is None else min(grace_s, pending_s)

    @staticmethod
    def _set_finalizers(meta: dict[str, Any], finalizers: list[str]) -> None:
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)

    @staticmethod
    def _check_preconditions(write: Write, options: DeleteOptions, meta: dict[str, Any]) -> None:
        strategy = write.target.strategy
        uid, version = options.precondition_uid, options.precondition_version
        if uid is not None and uid != meta["uid"]:
            raise strategy.precondition_failed(write.name, "UID", uid, meta["uid"])
        if version is not None and version != meta["resourceVersion"]:
            raise strategy.precondition_failed(write.name, "ResourceVersion", version, meta["resourceVersion"])
