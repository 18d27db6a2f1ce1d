"""One look at a Deployment and its ReplicaSets, which follows what the controller writes meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.simulation.workloads.deployments.sets import new_set, others
from orchtw.wire.objects import Object


class Rollout:
    """A Deployment and its ReplicaSets: `new` is that of the present template, or None."""

    def __init__(self, deployment: Object, sets: Iterable[Object]) -> None:
        self.deployment = deployment
        self._sets = {each["metadata"]["uid"]: each for each in sets}
        self.new = new_set(deployment, self._sets.values())

    @property
    def old(self) -> list[Object]:
        """All ReplicaSets but the new one."""
        return others(self._sets.values(), self.new)

    @property
    def all(self) -> list[Object]:
        """All ReplicaSets, the new one included."""
        return list(self._sets.values())

    @property
    def status(self) -> Object:
        """The status of the Deployment."""
        found: Object = self.deployment.get("status") or {}
        return found

    def put(self, written: Object) -> None:
        """Take in a ReplicaSet that was written."""
        uid = written["metadata"]["uid"]
        self._sets[uid] = written
        if self.new is not None and self.new["metadata"]["uid"] == uid:
            self.new = written

    def made(self, written: Object) -> None:
        """Take in the new ReplicaSet."""
        self._sets[written["metadata"]["uid"]] = self.new = written
