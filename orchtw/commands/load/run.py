"""A run: set-up, the steady load with its reports, the settling of events, and the clean-up."""

from __future__ import annotations

import resource
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred

from orchtw.client.concurrency import each
from orchtw.commands.connections import ServerConnections
from orchtw.commands.load.bodies import Bodies
from orchtw.commands.load.churn import PodChurn, RolloutChurn
from orchtw.commands.load.cleanup import clean_up
from orchtw.commands.load.deliveries import Ledger
from orchtw.commands.load.deployments import Deployments
from orchtw.commands.load.informer import LoadInformer
from orchtw.commands.load.nodes import NodeAgents
from orchtw.commands.load.paths import ServerPaths
from orchtw.commands.load.plan import LoadPlan
from orchtw.commands.load.pods import Pods
from orchtw.commands.load.preparing import make_namespaces, runs_workloads
from orchtw.commands.load.requests import LoadRequests
from orchtw.commands.load.server_usage import ServerUsage
from orchtw.commands.load.statistics import Statistics
from orchtw.commands.load.steady import Show, SteadyLoad
from orchtw.commands.load.world import LoadWorld
from orchtw.errors import ConfigError
from orchtw.outbound.remote import Remote

AGENT: Final = "orch-load"
WRITERS: Final = 32
"""Concurrent writes of the set-up."""

LISTERS: Final = 8
"""Concurrent lists and handshakes of the set-up."""

SPARE_FILES: Final = 512
"""Files and connections beside those of watches."""


class LoadRun:
    """One run of a plan against a server; `show` gets each interval and the total, `say` what is being done."""

    def __init__(self, plan: LoadPlan, remote: Remote, reactor: Any, show: Show, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._reactor = reactor
        self._show = show
        self._say = say
        self._statistics = Statistics()
        self._ledger = Ledger()
        kept = plan.nodes + SPARE_FILES  # a node agent keeps its connection
        most = kept + plan.nodes + 3 * plan.informers + SPARE_FILES
        raise_file_limit(most + SPARE_FILES)
        self._connections = ServerConnections(remote, reactor, AGENT, most, kept)
        self._requests = LoadRequests(self._connections, self._ledger, self._statistics, reactor, say)
        usage = ServerUsage(self._connections, reactor)
        self._steady = SteadyLoad(self._statistics, self._ledger, usage, reactor, show, plan.interval_s)
        self._informers: list[LoadInformer] = []

    @property
    def last_error(self) -> str:
        """Return the last error in words; empty if there was none."""
        return self._requests.last_error

    def end_early(self) -> None:
        """End the steady load now, or as soon as it begins; the run goes on with its end."""
        self._steady.end_early()

    async def run(self, *, keep: bool) -> bool:
        """Do everything; report whether there was neither an error nor a lost, repeated or disordered event.

        With `keep`, the objects stay. Raises ConfigError when the server cannot be used at all.
        """
        world = await self._world()
        try:
            await self._loaded(world)
        finally:
            world.cancel()
            for informer in self._informers:
                await informer.stop()
            if not keep:
                self._say("cleaning up")
                await clean_up(world)
            await self._connections.close()
        if world.failure is not None:
            world.failure.raiseException()
        self._statistics.take()
        return not self._statistics.total.failed and not self._ledger.total.wrong

    async def _world(self) -> LoadWorld:
        head, body = await self._connections.asked("GET", "/apis")
        groups = await body.whole()
        if head.code != 200:
            raise ConfigError(f"{self._connections.url}/apis: the server answered with status {head.code}")
        paths = ServerPaths.of_groups(groups)
        return LoadWorld(
            plan=self._plan,
            requests=self._requests,
            bodies=Bodies(paths.naming, self._plan.prefix),
            paths=paths,
            random=Random(self._plan.seed),
            reactor=self._reactor,
        )

    async def _loaded(self, world: LoadWorld) -> None:
        plan = self._plan
        await make_namespaces(world)
        by_server = await self._by_server(world)
        agents, deployments = NodeAgents(world), Deployments(world, by_server=by_server)
        churn = PodChurn(world, Pods(world), deployments)
        self._say(f"creating {plan.nodes:,} nodes, {plan.deployments:,} Deployments and {plan.pods:,} pods")
        await agents.create(WRITERS)
        agents.start()
        await deployments.create(WRITERS)
        if not by_server:
            await churn.fill(WRITERS)
        self._say("starting the watches")
        await self._follow(world)
        if self._statistics.interval.failed:
            raise ConfigError(f"the set-up has failed: {self.last_error}")
        self._say(f"load for {plan.duration_s:g} s")
        if by_server:
            await self._measured([RolloutChurn(world, deployments).run()], churn)
        else:
            await self._measured([churn.run(), deployments.write_endpoints()], churn)

    async def _measured(self, acting: Sequence[Coroutine[Any, Any, None]], churn: PodChurn) -> None:
        """Let the actors act for the time of the load, then wait for what they have begun."""
        running = [Deferred.fromCoroutine(acts) for acts in acting]
        await self._steady.run(self._plan.duration_s)
        for acts in running:
            acts.cancel()
            with suppress(CancelledError):
                await acts
        await self._steady.settle(lambda: churn.under_way > 0)
        self._show(self._steady.total(churn.skipped))

    async def _follow(self, world: LoadWorld) -> None:
        """Start all informers: each node's of its pods, the planned ones, and those of the controllers of nodes."""
        plan, paths = self._plan, world.paths
        followed = [("nodes", paths.core("nodes")), ("leases", paths.leases()), ("deployments", paths.deployments())]
        for _ in range(plan.informers):
            followed += [("pods", paths.core("pods")), ("services", paths.core("services"))]
            followed.append(("endpointslices", paths.slices()))
        self._informers = [self._informer(world, topic, path) for topic, path in followed]
        for name in map(plan.node, range(plan.nodes)):
            selector = f"spec.nodeName%3D{name}"
            self._informers.append(self._informer(world, f"pods of {name}", paths.core("pods"), selector))
        await each(self._informers, LoadInformer.start, LISTERS)

    def _informer(self, world: LoadWorld, topic: str, path: str, selector: str = "") -> LoadInformer:
        follower = self._ledger.follower(topic)
        return LoadInformer(
            self._connections, self._requests, self._statistics, follower, path, selector, world.random, self._reactor
        )

    async def _by_server(self, world: LoadWorld) -> bool:
        if not self._plan.deployments or self._plan.workloads == "tool":
            return False
        by_server = self._plan.workloads == "server" or await runs_workloads(world)
        self._say(f"pods are made by {'the server' if by_server else 'this program'}")
        return by_server


def raise_file_limit(wanted: int) -> None:
    """Raise the limit of open files, as far as the system lets this process; each watch takes a connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
