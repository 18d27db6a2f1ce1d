"""Deployments, their Services and EndpointSlices, and their rollouts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from orchtw.client.concurrency import each
from orchtw.commands.load.bodies import endpoints
from orchtw.commands.load.pods import LoadPod
from orchtw.commands.load.requests import MERGE_PATCH, STRATEGIC_PATCH
from orchtw.commands.load.world import LoadWorld

SLICE_S: Final = 1.0
"""Interval at which the endpoints of changed Services are written."""

MOST_ENDPOINTS: Final = 100
"""Endpoints of a slice; those of further pods are left out."""


class Deployments:
    """Deployments of a run. Unless `by_server`, their replicas are 0 and their pods are this program's."""

    def __init__(self, world: LoadWorld, *, by_server: bool) -> None:
        self._world = world
        self._by_server = by_server
        self._waiting: deque[int] = deque()
        self._revision = 1
        self._endpoints: dict[int, dict[str, str]] = {}
        self._changed: set[int] = set()

    async def create(self, at_once: int) -> None:
        """Create all Deployments and what belongs to them, that many concurrently."""
        await each(range(self._world.plan.deployments), self._create, at_once)

    def next(self) -> int:
        """Return the number of the Deployment whose turn it is: all in turn, in an order by the seed."""
        if not self._waiting:
            numbers = list(range(self._world.plan.deployments))
            self._world.random.shuffle(numbers)
            self._waiting.extend(numbers)
        return self._waiting.popleft()

    async def roll(self, number: int) -> None:
        """Patch the image of a Deployment."""
        self._revision += 1
        plan = self._world.plan
        path = self._world.paths.deployments(plan.namespace(number), plan.deployment(number))
        body = self._world.bodies.image(self._revision)
        send = self._world.requests.send
        await send("patch deployments", "PATCH", path, body, STRATEGIC_PATCH, topics=("deployments",))

    def replaced(self, fresh: LoadPod | None, gone: LoadPod | None) -> None:
        """Take note of pods that have come and gone: their Service has other endpoints."""
        if self._world.plan.deployments:
            for pod in (fresh, gone):
                if pod is not None:
                    found = self._endpoints.setdefault(pod.app, {})
                    if pod is fresh:
                        found[pod.name] = pod.address
                    else:
                        found.pop(pod.name, None)
                    self._changed.add(pod.app)

    async def write_endpoints(self) -> None:
        """Write the endpoints of Services whose pods change, from now on."""
        while True:
            changed, self._changed = sorted(self._changed), set()
            await each(changed, self._write_slice, 4)
            await self._world.sleep(SLICE_S)

    async def _create(self, number: int) -> None:
        plan, bodies, paths = self._world.plan, self._world.bodies, self._world.paths
        namespace, name = plan.namespace(number), plan.deployment(number)
        replicas = plan.replicas(number) if self._by_server else 0
        steps: Sequence[tuple[str, str, bytes]] = (
            ("create deployments", paths.deployments(namespace),
             bodies.deployment(name, replicas, scheduled=self._by_server)),
            ("create services", paths.core("services", namespace), bodies.service(name, selecting=self._by_server)),
        )  # fmt: skip
        if not self._by_server:
            steps = (*steps, ("create endpointslices", paths.slices(namespace), bodies.slice(name)))
        for operation, path, body in steps:
            await self._world.requests.send(operation, "POST", path, body)

    async def _write_slice(self, number: int) -> None:
        plan, found = self._world.plan, self._endpoints.get(number, {})
        body = endpoints(dict(list(found.items())[:MOST_ENDPOINTS]))
        path = self._world.paths.slices(plan.namespace(number), plan.deployment(number))
        send = self._world.requests.send
        await send("patch endpointslices", "PATCH", path, body, MERGE_PATCH, topics=("endpointslices",))
