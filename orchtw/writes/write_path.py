"""Write path: the entrance of every create, update and removal (reference WRITE-2)."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from random import Random
from typing import Any

from orchtw.apply.field_manager import FieldManager
from orchtw.metrics.registry import Registry
from orchtw.naming.naming import Naming
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.offload import Offload
from orchtw.registry.permissions import Permissions
from orchtw.registry.stored import Stored
from orchtw.registry.target import Target
from orchtw.registry.write import Transform, Write, Written
from orchtw.schema.codec.codec import Codec
from orchtw.storage.metrics import StoreTimes
from orchtw.storage.store import Store, WriteOutcome
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions, Settle, Submission, as_it_is
from orchtw.writes.create import Creation
from orchtw.writes.drafts import Drafts
from orchtw.writes.gate import WriteGate
from orchtw.writes.metadata import Stamp
from orchtw.writes.removal import Removal
from orchtw.writes.steps import Annotate, Steps
from orchtw.writes.update import Update


class WritePath:
    """Creates, updates and removals, against one store.

    `gate`, if there is one, stands in front of all writes. `names` is the limit of names that are tried for an object
    whose name is generated. `removal` has the steps of which `Deletion` puts a removal together.
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
        times = times or StoreTimes(Registry(), Naming.orch())
        steps, drafts = Steps(store, offload, permissions, times, annotate), Drafts(stamp, random, ownership, names)
        self.gate = gate
        self.removal = Removal(steps, admissions)
        self._admissions = admissions
        self._stamp = stamp
        self._ownership = ownership
        self._steps = steps
        self._creation = Creation(steps, admissions, drafts, gate)
        self._update = Update(steps, admissions, drafts, self._creation, self.removal)

    def now(self) -> float:
        """Return the time for timestamps in objects, in seconds since the epoch."""
        return self._stamp.now()

    def timestamp(self) -> str:
        """Return the same time as metadata holds it."""
        return self._stamp.timestamp()

    def field_manager(self, target: Target, subresource: str) -> FieldManager:
        """Return the field manager of a target's endpoint."""
        return self._ownership.of(target, subresource)

    def read(self, target: Target, entry: Entry) -> Coroutine[Any, Any, Object]:
        """Return a stored object in the version of the target."""
        return self._steps.run(len(entry.raw), lambda: target.load(entry))

    def stored_now(self, stored: Stored, namespace: str, name: str) -> Coroutine[Any, Any, Entry | None]:
        """Return the object from the store, as `Steps.stored_now`."""
        return self._steps.stored_now(stored, namespace, name)

    def permit(self, asked: Submission, codec: Codec, settle: Settle = as_it_is) -> Coroutine[Any, Any, Object]:
        """Run admission for a request whose own object is not stored, as `Admissions.permit`."""
        return self._admissions.permit(asked, codec, settle)

    def create(self, write: Write, obj: Object) -> Coroutine[Any, Any, Entry]:
        """Store a new object (reference WRITE-5).

        Raises AlreadyExists (409), Invalid (422, a cause per field), Forbidden (403), NotFound (404, the namespace),
        RequestEntityTooLarge (413), MethodNotAllowed (405, the kind stores nothing new any more).
        """
        if self.gate is None:
            return self._creation.create(write, obj)
        return self.gate.run(partial(self._creation.create, write, obj))

    async def update(self, write: Write, transform: Transform) -> Written:
        """Change a stored object, or create it where the kind allows a PUT to create (reference WRITE-9, WRITE-10).

        `transform` gets the live object and may be called again when another writer was faster. Returns when a
        client's change is in force on this server, if that is later than it is stored.
        Raises NotFound (404), Conflict (409), Invalid (422), Forbidden (403).
        """
        if self.gate is None:
            written = await self._update.update(write, transform)
        else:
            written = await self.gate.run(partial(self._update.update, write, transform))
        in_force = write.target.stored.in_force
        if in_force is not None and write.request is not None and not (write.subresource or write.dry_run):
            await in_force(written.entry)
            write.step("Object took effect")
        return written

    def load(self, write: Write, live: Entry) -> Coroutine[Any, Any, Object]:
        """Return the draft of an object that is to be removed, as `Removal.load`."""
        return self.removal.load(write, live)

    def remove(self, write: Write, live: Entry, old: Object) -> Coroutine[Any, Any, WriteOutcome]:
        """Remove the live object without admission, as `Removal.remove`."""
        return self.removal.remove(write, live, old)

    def discard(self, stored: Stored, key: str, revision: int) -> Coroutine[Any, Any, None]:
        """Remove an unreadable object without admission, as `Removal.discard`."""
        return self.removal.discard(stored, key, revision)
