"""scheduler controller: gives pods their nodes, one after the other, and writes that beside (reference SIM-60)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Final

from twisted.internet.defer import Deferred

from orchtw.controllers.controller import WorkSource
from orchtw.errors import Conflict, Fenced, NotFound, StatusError
from orchtw.responses.slices import Steps, in_turns
from orchtw.simulation.clock import Timer
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.binding import Binder, NotBound
from orchtw.simulation.scheduling.budgets import Budgets
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.cycle import Attempt, Cycle, Surroundings
from orchtw.simulation.scheduling.decisions import NO_CHOICE, Placement, Rejection
from orchtw.simulation.scheduling.observer import NAME, Observer
from orchtw.simulation.scheduling.pending import FLUSH_PERIOD_S, VOLUMES_CHANGED, Pending, PendingPods
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.preemption import Preemption, preempt
from orchtw.simulation.scheduling.rejecting import Rejecter
from orchtw.simulation.scheduling.storage import Storage
from orchtw.simulation.scheduling.terms import NO_LABELS, Labels
from orchtw.simulation.world import World
from orchtw.watch.turns import ReactorTurns

_NEXT: Final = "next"
"""Key of the attempts, which are made one after the other; other keys are of pods whose outcome is to be written."""
_BIND, _REJECT = "bind/", "reject/"
_CONCURRENT_WRITES: Final = 16
_MOST_UNWRITTEN: Final = 512
"""Outcomes that may wait to be written before there are further attempts."""


class Scheduler(SimulatedController):
    """Controller keyed by `next`, `bind/NAMESPACE/NAME` and `reject/NAMESPACE/NAME`."""

    name = "scheduler"
    account = "scheduler"
    component = NAME

    def __init__(self, world: World) -> None:
        super().__init__(world, _CONCURRENT_WRITES)
        self._nodes = world.informer("", "nodes")
        self._pods = world.informer("", "pods")
        self._namespaces = world.informer("", "namespaces")
        self._budgets = world.informer("policy", "poddisruptionbudgets")
        self._cluster = Cluster(self._labels_of_namespace, self.naming.translate("topology.orch.io/zone"))
        self._pending = PendingPods(self.clock, lambda: self.queue.add(_NEXT))
        self._storage = Storage(world, self._storage_changed, self._cluster.users_of_claim)
        self._seen = Observer(self._cluster, self._pending, self._nodes, self._pods, self._namespaces)
        random = Random(self.host.random.random())
        self._around = Surroundings(self._cluster, self._storage.sources, self.naming, random)
        self._cycle = Cycle(self._around)
        self._rejections: dict[str, Rejection] = {}
        self._binder = Binder(self.client, self.events, self.naming, self.clock, self._pods, self._storage.claims)
        self._rejecter = Rejecter(self.client, self.events, self.clock, self._pods)
        self._waiting_for: dict[str, str] = {}
        """Keys of pods that wait to be bound until a claim is, by the claim's key."""
        self._flushing: Timer | None = None
        # Slices of its own: it would fall behind the many writers that share those of the host.
        clock = self.host.clock
        self._turns = ReactorTurns(clock.seconds, lambda work: clock.callLater(0, work))

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Pods come last: they are scheduled with what is known by then."""
        return (self._namespaces, self._budgets, *self._storage.informers, self._nodes, self._pods)

    def startService(self) -> None:
        """Work, and try pods again that have waited for long."""
        super().startService()
        self._flush()

    def stopService(self) -> Deferred[None]:
        """Stop, and let go of the pods that back off."""
        if self._flushing is not None:
            self._flushing.cancel()
        self._pending.clear()
        return super().stopService()

    async def sync(self, key: str) -> float | None:
        """Make attempts, or write the outcome of one."""
        await self.listed()
        if key == _NEXT:
            await in_turns(self._turns, self._attempts())
            return None
        kind, _, pod = key.partition("/")
        delay_s = await (self._bind(pod) if kind == "bind" else self._reject(pod))
        if self._pending.has_active:
            self.queue.add(_NEXT)
        return delay_s

    def _attempts(self) -> Steps[None]:
        """Try the pods of the queue, as long as what has been decided gets written."""
        while len(self._seen.placements) + len(self._rejections) < _MOST_UNWRITTEN:
            pending = self._pending.pop()
            if pending is None:
                return
            yield from self._try(pending)
            yield

    def _try(self, pending: Pending) -> Steps[None]:
        key, trying = pending.pod.key, self._seen.trying
        trying[key] = pending
        attempt = yield from self._cycle.attempt(pending.pod)
        preemption = Preemption()
        if attempt.node is None and attempt.refusals:
            preemption = yield from preempt(pending.pod, attempt.refusals, self._around, self._read_budgets)
        if trying.pop(key, None) is None:
            return  # it was deleted while others had their turn
        if attempt.node is not None:
            self._place(pending, attempt)
        else:
            self._refuse(pending, attempt, preemption)

    def _place(self, pending: Pending, attempt: Attempt) -> None:
        """Count the pod on its node, and have it bound."""
        node, pod = attempt.node, pending.pod
        assert node is not None
        volumes = None if attempt.fitting.volumes is None else attempt.fitting.volumes.choice(node)
        self._cluster.nominate(pod, "")
        pod.node = node.name
        self._cluster.add(pod)
        self._seen.placements[pod.key] = Placement(pending, node.name, volumes or NO_CHOICE)
        self.queue.add(_BIND + pod.key)

    def _refuse(self, pending: Pending, attempt: Attempt, preemption: Preemption) -> None:
        """Let the pod wait for an event, and have it told why."""
        pod, candidate = pending.pod, preemption.candidate
        refusals = attempt.refusals
        message = reasons.NO_NODES
        if refusals:
            told = ((reason, 1) for refusal in refusals.values() for reason in refusal.reasons)
            message = reasons.summary(len(refusals), told, preemption.message)
        victims: tuple[PodInfo, ...] = ()
        displaced: tuple[PodInfo, ...] = ()
        if candidate is not None:
            victims = candidate.victims
            displaced = tuple(each for each in candidate.node.nominated.values() if each.priority < pod.priority)
            for each in displaced:
                self._cluster.nominate(each, "")
            self._cluster.nominate(pod, candidate.node.name)
        elif pod.nominated and not preemption.keeps:
            self._cluster.nominate(pod, "")
        self._rejections[pod.key] = Rejection(pod, message, pod.nominated, victims, displaced)
        self._pending.failed(pending, frozenset(refusal.plugin for refusal in refusals.values()))
        self.queue.add(_REJECT + pod.key)

    async def _bind(self, key: str) -> float | None:
        """Write a placement; one that cannot be written is forgotten, and the pod tried again later."""
        placement = self._seen.placements.get(key)
        if placement is None:
            return None
        try:
            wait_s = await self._binder.volumes(placement)
            if wait_s is not None:
                self._wait_for_claims(key, placement)
                return wait_s
            await self._binder.bind(placement)
        except (Conflict, Fenced):
            raise
        except (StatusError, NotBound) as error:
            self._failed(key, placement, str(error), gone=isinstance(error, NotFound))
        return None

    def _failed(self, key: str, placement: Placement, message: str, *, gone: bool) -> None:
        if self._seen.placements.get(key) is not placement:
            return
        self._seen.forget_placement(key)
        placement.pending.pod.node = ""
        if gone and self._pods.get(key) is None:
            return
        self._pending.again(placement.pending)
        self._rejections[key] = Rejection(placement.pending.pod, message)
        self.queue.add(_REJECT + key)

    def _wait_for_claims(self, key: str, placement: Placement) -> None:
        wanted = placement.volumes
        for claim in (*(each for each, _ in wanted.present), *wanted.made):
            meta = claim["metadata"]
            self._waiting_for[f"{meta['namespace']}/{meta['name']}"] = key

    async def _reject(self, key: str) -> None:
        rejection = self._rejections.get(key)
        if rejection is None:
            return
        with suppress(NotFound):
            await self._rejecter.write(rejection)
        if self._rejections.get(key) is rejection:
            del self._rejections[key]

    def _storage_changed(self, claim: str | None) -> None:
        if claim is not None and (pod := self._waiting_for.pop(claim, None)) is not None:
            self.queue.add(_BIND + pod)
        self._pending.event(VOLUMES_CHANGED)

    def _read_budgets(self) -> Budgets:
        return Budgets(self._budgets)

    def _labels_of_namespace(self, name: str) -> Labels:
        namespace = self._namespaces.get(name)
        return NO_LABELS if namespace is None else namespace["metadata"].get("labels") or NO_LABELS

    def _flush(self) -> None:
        """Try pods again that have waited for long; an advance of the time waits only if there are some."""
        self._flushing = timer = self.clock.call_later(FLUSH_PERIOD_S, self._flush, settles=False)
        timer.settles = self._pending.flush()
