"""Creation of objects: the steps, taken names and dry runs (reference WRITE-5)."""

from __future__ import annotations

from functools import partial

from orchtw.errors import AlreadyExists, InternalError, MethodNotAllowed
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.write import Write
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.store import Op
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions
from orchtw.writes.drafts import Drafts, prepared_object
from orchtw.writes.gate import WriteGate
from orchtw.writes.steps import Steps, committed, end, release


class Creation:
    """Creation of objects in one store; the caller has come through the `gate`, if there is one."""

    def __init__(self, steps: Steps, admissions: Admissions, drafts: Drafts, gate: WriteGate | None) -> None:
        self._steps = steps
        self._admissions = admissions
        self._drafts = drafts
        self._gate = gate

    async def create(self, write: Write, obj: Object) -> Entry:
        """Store a new object, as `WritePath.create`."""
        gate, steps = self._gate, self._steps
        begun = 0 if gate is None else gate.times_opened
        target, stored = write.target, write.target.stored
        size = target.codec.work_bytes(write.size_bytes)
        _check_open(stored)
        # 1. Managed fields come before admission: nobody is to own what a plugin added.
        await steps.run(size, partial(self._drafts.arriving, write, obj))
        size = target.strategy.work_bytes(obj, size)
        # 2. Mutating admission, then the rights that the object grants: a plugin may have added some.
        admission = self._admissions.of(write, "CREATE", obj, None, size)
        if admission is not None:
            await admission.admit()
            write.step("Mutating admission finished")
        await steps.check_grants(write, size, obj, None, admission)
        # 3. The strategy and validation see what plugins made of the object, and the name is generated.
        generated, new, check = await steps.run(size, partial(self._drafts.begin_create, write, obj, admission))
        # 4. Reservations fill in addresses and ports, which validation looks at; from here on they must be ended.
        hold = await steps.reserve(write, size, new, None, check)
        try:
            # 5. Validating admission sees the object as it will be stored; quota is charged last of all.
            if admission is not None and admission.validates:
                await admission.validate()
                write.step("Validating admission finished")
            prepared = await steps.run(size, partial(prepared_object, target, new))
            draft = target.for_writer(new)
            del obj, new, check  # what waits for the disk are bytes: see `Prepared`
            release(admission)
            if write.dry_run:
                if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
                    await wait
                return target.as_written(await self._pretend(write, prepared, generated=generated), draft)
            # 6. Compare and swap: the name must be free.
            _check_open(stored)  # again: nothing comes into a collection after it was closed
            if gate is not None:
                gate.check(begun)
            op = Op(stored.prefix + prepared.key, prepared.value, 0, prepared, stored.strategy.ttl_s)
            outcome = await steps.commit(write, op, hold)
            write.step("Object stored in database")
        finally:
            end(hold, admission)
        if not outcome.revision:
            raise await self._exists(write, prepared, generated=generated)
        return target.as_written(committed(stored, prepared, outcome.revision), draft)

    async def _pretend(self, write: Write, prepared: Prepared, *, generated: bool) -> Entry:
        """Return the result of a dry run: the object without a resourceVersion, unless the name is taken."""
        if write.target.stored.cache.get(prepared.key) is not None:
            raise await self._exists(write, prepared, generated=generated)
        return prepared.dry_run_entry()

    async def _exists(self, write: Write, prepared: Prepared, *, generated: bool) -> AlreadyExists:
        """Return the error for a taken name; it says so if that object is being deleted (reference ERR-6)."""
        resource, stored = write.target.resource, write.target.stored
        try:
            live = stored.cache.get(prepared.key)
        except InternalError:  # it cannot be read, but its name is taken all the same
            live = None
        old = {} if live is None else (await self._steps.run(len(live.raw), lambda: stored.load(live)))["metadata"]
        refusal = AlreadyExists.generated if generated else AlreadyExists.of
        return refusal(resource.plural, resource.group, prepared.name, ending="deletionTimestamp" in old)


def _check_open(stored: Stored) -> None:
    if stored.closed:
        raise MethodNotAllowed.at_present(stored.closed)
