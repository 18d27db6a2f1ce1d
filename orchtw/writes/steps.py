"""Steps that all writes have in common: grants, reservations, the commit (reference WRITE-2)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Any, TypeVar

from orchtw.errors import Fenced
from orchtw.registry.converting import run_converting
from orchtw.registry.metadata import ordered
from orchtw.registry.offload import Offload
from orchtw.registry.permissions import Permissions
from orchtw.registry.reservations import Hold
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.write import Write
from orchtw.schema.codec.codec import Codec
from orchtw.storage.metrics import StoreTimes
from orchtw.storage.store import Op, Store, WriteOutcome
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admission
from orchtw.writes.drafts import Check

T = TypeVar("T")

Annotate = Callable[[Write, Op], Op]
"""Returns the commit of a write with more in its note than the write path knows to be needed."""

MAX_ATTEMPTS = 100
"""Attempts of one write against racing writers: 64 writers on one object all get through, a livelock ends."""


class Steps:
    """Steps of creates, updates and removals, against one store.

    Between admission, which may wait, and the store, a write is pure computation on dicts of its own, done off the
    reactor for large objects. `annotate`, if there is one, adds to the notes of commits.
    """

    def __init__(
        self,
        store: Store,
        offload: Offload,
        permissions: Permissions | None,
        times: StoreTimes,
        annotate: Annotate | None,
    ) -> None:
        self.store = store
        self.permissions = permissions
        self._offload = offload
        self._times = times
        self._annotate = annotate

    def run(self, size_bytes: int, work: Callable[[], T]) -> Coroutine[Any, Any, T]:
        """Return the result of `work` on so many bytes, which a webhook may have to convert first."""
        return run_converting(self._offload, size_bytes, work)

    async def stored_now(self, stored: Stored, namespace: str, name: str) -> Entry | None:
        """Return the object from the store, for a write whose resource is being replaced by another."""
        key = stored.tail(namespace, name)
        found = await self.store.get(stored.prefix + key)
        return None if found is None else stored.build(key, found.value, found.revision)

    async def check_grants(
        self, write: Write, size: int, wanted: Object, live: Object | None, admission: Admission | None
    ) -> None:
        """Refuse a write that grants rights which the writer may not grant (reference AUTHZ-20)."""
        permissions = self.permissions
        if permissions is None or not permissions.concerns(write):
            return
        new = wanted if admission is None else await self.run(size, admission.outcome)
        await permissions.granting(write, new, live)

    async def reserve(
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
                await self.run(size, lambda: _canonical(stored.codec, new))
            await self.run(size, check)
        except BaseException:
            hold.end()
            raise
        return hold

    async def commit(self, write: Write, op: Op, hold: Hold | None) -> WriteOutcome:
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
        outcome = await (self.store.commit(op) if hold is None else hold.commit(self.store, op))
        self._times.took(write.target.stored.prefix, op, perf_counter() - began)
        if outcome.fenced:
            raise Fenced
        return outcome


def committed(stored: Stored, prepared: Prepared, revision: int) -> Entry:
    """Return the cache's entry of a commit, or one of our own if a later write has replaced it."""
    entry = stored.cache.get(prepared.key)
    return prepared.entry(revision) if entry is None or entry.revision != revision else entry


def release(admission: Admission | None) -> None:
    """Let go of the objects that a write's admission holds: it waits for the store now."""
    if admission is not None:
        admission.release()


def end(hold: Hold | None, admission: Admission | None) -> None:
    """End a write's reservations, unless they are part of its commit, and its admission."""
    if hold is not None:
        hold.end()
    if admission is not None:
        admission.end()


def _canonical(codec: Codec, obj: Object) -> None:
    """Make an object of the storage version canonical again, in place."""
    fresh = codec.normalise(obj)
    fresh["metadata"] = ordered(fresh["metadata"])
    obj.clear()
    obj.update(fresh)
