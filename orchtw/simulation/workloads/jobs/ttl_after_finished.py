"""Controller that deletes Jobs some time after their end (reference SIM-49)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import NotFound
from orchtw.rules.delete_options import DeleteOptions
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.workloads.jobs.status import ending_of
from orchtw.simulation.world import World
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object


class TTLAfterFinished(SimulatedController):
    """ttl-after-finished controller, keyed by Job."""

    name = "ttl-after-finished"
    account = "ttl-after-finished-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._jobs = world.informer("batch", "jobs")
        self._jobs.handle(self._seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informer of Jobs."""
        return (self._jobs,)

    async def sync(self, key: str) -> float | None:
        """Delete one Job if its time is up, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        job = self._jobs.get(key)
        due = None if job is None else _due(job)
        if job is None or due is None:
            return None
        left_s = due - self.clock.now()
        if left_s > 0:
            return left_s
        meta = job["metadata"]
        options = DeleteOptions(propagation="Foreground", precondition_uid=meta["uid"])
        try:
            await self.client.delete(self._jobs.resource, meta["namespace"], meta["name"], options)
        except NotFound:
            return None
        return None

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and _due(self._jobs.load(new)) is not None:
            self.queue.add(new.key)


def _due(job: Object) -> float | None:
    """Return when a Job is to be deleted, in seconds since the epoch; None: never, or not known yet."""
    limit, end = job["spec"].get("ttlSecondsAfterFinished"), ending_of(job)
    if limit is None or end is None or job["metadata"].get("deletionTimestamp"):
        return None
    return float(parse_time(end["lastTransitionTime"])[0] + limit)
