"""Replacement of pods at the planned rate, Deployment after Deployment."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final

from orchtw.client.concurrency import each
from orchtw.commands.load.deployments import Deployments
from orchtw.commands.load.pods import LoadPod, Pods
from orchtw.commands.load.world import LoadWorld

TICK_S: Final = 0.05
MOST_UNDER_WAY: Final = 1000
"""Replacements under way; when the server is too slow for more, they are skipped and counted."""


class PodChurn:
    """Replacement of the program's own pods, as rollouts of their Deployments do it."""

    def __init__(self, world: LoadWorld, pods: Pods, deployments: Deployments) -> None:
        self._world = world
        self._pods = pods
        self._deployments = deployments
        self._running: defaultdict[int, deque[LoadPod]] = defaultdict(deque)
        self._app = 0
        self._left = 0
        self.under_way = 0
        self.skipped = 0

    async def fill(self, at_once: int) -> None:
        """Create all pods, that many concurrently."""

        async def create(number: int) -> None:
            pod = await self._pods.filled(self._world.plan.owner(number))
            self._came(pod)

        await each(range(self._world.plan.pods), create, at_once)

    async def run(self) -> None:
        """Replace pods from now on."""
        plan, reactor = self._world.plan, self._world.reactor
        begun_s, done = reactor.seconds(), 0
        while True:
            due = plan.due(reactor.seconds() - begun_s)
            for _ in range(due - done):
                self._begin_one()
            done = due
            await self._world.sleep(TICK_S)

    def _begin_one(self) -> None:
        if self.under_way >= MOST_UNDER_WAY:
            self.skipped += 1
        elif (old := self._next()) is not None:
            self.under_way += 1
            self._world.begin(self._replace(old))

    def _next(self) -> LoadPod | None:
        """Return the next pod to replace; a Deployment whose turn begins is rolled. None if no pod runs."""
        if self._left <= 0 and self._world.plan.deployments:
            self._app = self._deployments.next()
            self._left = len(self._running[self._app])
            if self._left:
                self._world.begin(self._deployments.roll(self._app))
        self._left -= 1
        running = self._running[self._app]
        return running.popleft() if running else None

    async def _replace(self, old: LoadPod) -> None:
        try:
            self._came(await self._pods.started(old.app))
            self._deployments.replaced(None, old)
            await self._pods.end(old)
        finally:
            self.under_way -= 1

    def _came(self, pod: LoadPod | None) -> None:
        if pod is not None:
            self._running[pod.app].append(pod)
            self._deployments.replaced(pod, None)


class RolloutChurn:
    """Rollouts of Deployments whose pods the server makes, as often as their replicas give the planned rate."""

    def __init__(self, world: LoadWorld, deployments: Deployments) -> None:
        self._world = world
        self._deployments = deployments

    async def run(self) -> None:
        """Roll Deployments from now on."""
        plan, reactor = self._world.plan, self._world.reactor
        due_s = reactor.seconds()
        while plan.churn > 0:
            number = self._deployments.next()
            await self._deployments.roll(number)
            due_s += max(1, plan.replicas(number)) / plan.churn
            await self._world.sleep(max(0.0, due_s - reactor.seconds()))
