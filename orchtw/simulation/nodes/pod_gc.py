"""podgc controller: removes pods that no node will end, and terminated ones beyond a number (reference SIM-14)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from twisted.internet.defer import Deferred

from orchtw.client.concurrency import each
from orchtw.client.interface import PLAIN_DELETE
from orchtw.controllers.controller import WorkSource
from orchtw.errors import NotFound
from orchtw.responses.slices import Steps, in_turns
from orchtw.simulation.clock import Timer
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.nodes.node_taints import readiness
from orchtw.simulation.pod_indexes import by_node
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

PERIOD_S: Final = 20.0
QUARANTINE_S: Final = 40.0
"""Seconds for which a node must have been away before its pods are removed."""
TERMINATED_THRESHOLD: Final = 12_500

_ENDED: Final = ("Succeeded", "Failed")
_ALL = "all"
_AT_A_TIME: Final = 32


class PodGC(SimulatedController):
    """Controller of one key, which looks at all pods that may have to go."""

    name = "podgc"
    account = "pod-garbage-collector"

    def __init__(self, world: World) -> None:
        super().__init__(world, 1)
        self._nodes = world.informer("", "nodes")
        self._pods = world.informer("", "pods")
        self._on = by_node(self._pods)
        self._states = self._pods.index("podgc", _state)
        self._missing: dict[str, float] = {}
        """Simulated seconds at which a node with pods was first found away."""
        self._out_of_service = self.naming.translate("node.orch.io/out-of-service")
        self._timer: Timer | None = None

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of nodes and pods."""
        return (self._nodes, self._pods)

    def startService(self) -> None:
        """Look for the first time."""
        super().startService()
        self._look()

    def stopService(self) -> Deferred[None]:
        """Stop the controller and its periodic looks."""
        if self._timer is not None:
            self._timer.cancel()
        return super().stopService()

    async def sync(self, key: str) -> float | None:
        """Delete the pods that have to go."""
        await self.listed()
        for find in (self._orphaned, self._stranded, self._surplus):
            await each(await in_turns(self.host.turns, find()), self._remove, _AT_A_TIME)
        return None

    def _look(self) -> None:
        """Queue the work if there is any; otherwise an advance of the time need not wait."""
        self._timer = timer = self.clock.call_later(PERIOD_S, self._look, settles=False)
        if self._may_have_work():
            timer.settles = True
            self.queue.add(_ALL)

    def _may_have_work(self) -> bool:
        if not self.synced or self._states.count("terminating"):
            return True
        if self._states.count("ended") > TERMINATED_THRESHOLD:
            return True
        return any(name not in self._nodes for name in self._on.values())

    def _orphaned(self) -> Steps[Sequence[Object]]:
        """Find the pods of nodes that have been away for some time."""
        now = self.clock.seconds()
        away = [name for name in self._on.values() if name not in self._nodes]
        self._missing = {name: self._missing.get(name, now) for name in away}
        found = []
        for name, since in self._missing.items():
            if now - since >= QUARANTINE_S:
                for pod in self._pods.of(self._on.keys(name)):
                    found.append(pod)
                    yield
        return found

    def _stranded(self) -> Steps[Sequence[Object]]:
        """Find terminating pods that no node runs, or whose node is said to be out of service."""
        found = []
        for pod in self._pods.of(self._states.keys("terminating")):
            name = pod["spec"].get("nodeName")
            if not name or self._is_out_of_service(self._nodes.get(name)):
                found.append(pod)
            yield
        return found

    def _is_out_of_service(self, node: Object | None) -> bool:
        if node is None or readiness(node) == "True":
            return False
        return any(each["key"] == self._out_of_service for each in node["spec"].get("taints") or ())

    def _surplus(self) -> Steps[Sequence[Object]]:
        """Find the oldest terminated pods beyond the threshold."""
        ages: list[tuple[str, str, str]] = []
        if self._states.count("ended") > TERMINATED_THRESHOLD:
            for key in self._states.keys("ended"):
                for pod in self._pods.of((key,)):
                    ages.append((pod["metadata"]["creationTimestamp"], pod["metadata"]["name"], key))
                yield
            ages.sort()
        surplus = ages[: max(0, len(ages) - TERMINATED_THRESHOLD)]
        return tuple(self._pods.of(key for *_, key in surplus))

    async def _remove(self, pod: Object) -> None:
        meta = pod["metadata"]
        options = msgspec.structs.replace(PLAIN_DELETE, grace_period_s=0, precondition_uid=meta["uid"])
        with suppress(NotFound):
            await self.client.delete(self._pods.resource, meta["namespace"], meta["name"], options)


def _state(pod: Object) -> Iterable[str]:
    if pod["metadata"].get("deletionTimestamp"):
        yield "terminating"
    if (pod.get("status") or {}).get("phase") in _ENDED:
        yield "ended"
