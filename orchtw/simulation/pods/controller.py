"""simulated-pods controller: what a node's agent does to the pods that are bound to it (reference SIM-20)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from twisted.internet.defer import Deferred

from orchtw.client.interface import Item
from orchtw.controllers.controller import WorkSource
from orchtw.errors import NotFound
from orchtw.rules.delete_options import DeleteOptions
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.event_budget import EventBudget
from orchtw.simulation.nodes.marks import is_gone, is_managed
from orchtw.simulation.pod_indexes import by_node
from orchtw.simulation.pods.addresses import PodAddresses, host_address
from orchtw.simulation.pods.plans import FOREVER
from orchtw.simulation.pods.pod_run import Happening, PodRun
from orchtw.simulation.pods.recorder import PodEvents, Report
from orchtw.simulation.pods.references import missing
from orchtw.simulation.pods.status import Addresses, is_covered, status_of
from orchtw.simulation.pods.sysctls import forbidden_sysctl
from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.pod_info import Port, host_ports, ports_conflict
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

CONCURRENCY = 16
"""Pods that are written at a time: the store commits them together."""
SLACK_S = 0.001
"""Tolerance for transitions that are almost due: floating-point sums of times are not exact."""
FLEETING_S = 0.5
"""A first status that is replaced this soon is not written: it would double the writes of many pods that start."""
_TERMINAL = ("Succeeded", "Failed")
_SYSCTL = "SysctlForbidden"


class SimulatedPods(SimulatedController):
    """Controller keyed by `namespace/name` of pods. A pod at rest is remembered by its status alone."""

    name = "simulated-pods"
    account = "simulated-pods"

    def __init__(self, world: World) -> None:
        super().__init__(world, CONCURRENCY)
        self._pods = world.informer("", "pods")
        self._nodes = world.informer("", "nodes")
        self._by_node = by_node(self._pods)
        self._pods.handle(self._seen)
        self._nodes.handle(self._node_seen)
        self._runs: dict[str, tuple[PodRun, str]] = {}
        """Pods to which something will happen, each with the version that was last taken in."""
        self._rested: dict[str, str] = {}
        """Versions of pods to which nothing happens by itself."""
        self._addresses = PodAddresses()
        self._reports = PodEvents(
            self.client, world.host, world.clock.now, world.shared(EventBudget).take
        )
        self._mirror = world.naming.translate("orch.io/config.mirror")

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Nodes before the pods on them."""
        return (self._nodes, self._pods)

    def startService(self) -> None:
        """Begin to report events, then to work."""
        self._reports.start()
        super().startService()

    async def _stop(self) -> None:
        await super().stopService()
        await self._reports.stop()

    def stopService(self) -> Deferred[None]:
        """Stop, and give up events that have not been written."""
        return Deferred.fromCoroutine(self._stop())

    async def sync(self, key: str) -> float | None:
        """Let the time pass for one pod, write what has changed, and delete it once its end is written."""
        pod = self._pods.get(key)
        if pod is None:
            self._forget(key)
            return None
        version: str = pod["metadata"]["resourceVersion"]
        if self._rested.get(key) == version:
            return None
        node = self._host(pod)
        if node is None or self._is_done(pod):
            self._runs.pop(key, None)
            return None
        now = self.clock.now() + SLACK_S
        run = self._taken(key, pod, now)
        if run.needs_references(now):
            run.missing = await missing(self.client, pod, self.naming.root_ca_config_map)
        run.advance(now)
        if not _is_fleeting(run, pod, now):
            await self._write(key, run, pod, node, now)
        self._tell(run, pod)
        if run.deleting and run.is_over:
            await self._delete(pod)
        if run.due == FOREVER:
            self._rested[key] = self._runs.pop(key, (run, version))[1]
            return None
        return run.due - self.clock.now()

    def _taken(self, key: str, pod: Object, now: float) -> PodRun:
        """Return the run of a pod, which has seen its present state."""
        version: str = pod["metadata"]["resourceVersion"]
        run, seen = self._runs.get(key, (None, ""))
        if run is None or run.uid != pod["metadata"]["uid"]:
            run = PodRun(pod, now)
            if "startTime" not in (pod.get("status") or {}):
                self._admit(key, pod, run)
        elif seen != version:
            run.take(pod, now)
        self._runs[key] = run, version
        return run

    def _admit(self, key: str, pod: Object, run: PodRun) -> None:
        """Let a pod fail that its node does not take."""
        if self._lacks_ports(key, pod):
            run.reject(reasons.NODE_PORTS, f"Predicate {reasons.NODE_PORTS} failed")
        elif forbidden := forbidden_sysctl(pod["spec"]):
            run.reject(_SYSCTL, f'forbidden sysctl: "{forbidden}" not allowlisted')

    async def _write(self, key: str, run: PodRun, pod: Object, node: Object, now: float) -> None:
        """Output the status if it has changed. Raises Conflict for a pod that has changed meanwhile."""
        meta = pod["metadata"]
        wanted = status_of(run, pod, self._addresses_of(key, run, pod, node), now)
        if is_covered(pod.get("status"), wanted):
            return
        changes = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": wanted}
        with suppress(NotFound):
            written = await self.client.patch(
                self._pods.resource, meta["namespace"], meta["name"], changes, "status", whole=False
            )
            self._runs[key] = run, written["metadata"]["resourceVersion"]

    async def _delete(self, pod: Object) -> None:
        """Delete a pod whose containers have ended; finalizers may hold one that has been deleted before."""
        meta = pod["metadata"]
        if meta.get("deletionGracePeriodSeconds") == 0:
            return
        options = DeleteOptions(grace_period_s=0, precondition_uid=meta["uid"])
        with suppress(NotFound):
            await self.client.delete(self._pods.resource, meta["namespace"], meta["name"], options)

    def _addresses_of(self, key: str, run: PodRun, pod: Object, node: Object) -> Addresses:
        host = host_address(node)
        known = (pod.get("status") or {}).get("podIP")
        if known:
            self._addresses.keep(key, known)
            return Addresses(known, host)
        return Addresses(self._address(key, pod, node, host) if run.has_address else "", host)

    def _address(self, key: str, pod: Object, node: Object, host: str) -> str:
        if pod["spec"].get("hostNetwork"):
            return host
        return self._addresses.of(key, node, self._with_addresses(node["metadata"]["name"]))

    def _with_addresses(self, node: str) -> Iterator[tuple[str, str]]:
        for key in self._by_node.keys(node):
            pod = self._pods.get(key)
            if pod is not None and not pod["spec"].get("hostNetwork") and (pod.get("status") or {}).get("podIP"):
                yield key, pod["status"]["podIP"]

    def _lacks_ports(self, key: str, pod: Object) -> bool:
        """Report whether another pod of the node, which was there first, has a port of the node that this one wants.

        The scheduler sees to that, but not every pod gets its node from the scheduler.
        """
        wanted = host_ports(pod["spec"])
        return bool(wanted) and any(
            ports_conflict(port, taken)
            for other in self._by_node.keys(pod["spec"]["nodeName"])
            if other != key
            for taken in self._ports_of(other)
            for port in wanted
        )

    def _ports_of(self, key: str) -> Sequence[Port]:
        """Return the ports of its node that a pod has had since it was admitted, until it ends."""
        pod = self._pods.get(key)
        status = (pod or {}).get("status") or {}
        admitted = key in self._runs or "startTime" in status
        return () if pod is None or not admitted or status.get("phase") in _TERMINAL else host_ports(pod["spec"])

    def _host(self, pod: Object) -> Object | None:
        """Return the simulated node of a pod; None for one without, on another node, or on one without power."""
        name = pod["spec"].get("nodeName")
        if not name or self._mirror in (pod["metadata"].get("annotations") or {}):
            return None
        node = self._nodes.get(name)
        return node if node is not None and is_managed(node) and not is_gone(node) else None

    def _is_done(self, pod: Object) -> bool:
        """Report whether a pod has ended and nothing is left to be done to it."""
        if pod["metadata"].get("deletionTimestamp"):
            return False
        status = pod.get("status") or {}
        statuses = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
        running = any("running" in (each.get("state") or {}) for each in statuses)
        return status.get("phase") in _TERMINAL and not running

    def _tell(self, run: PodRun, pod: Object) -> None:
        happenings, run.happenings = run.happenings, []
        for each in happenings:
            self._reports.report(_report(each, pod))

    def _forget(self, key: str) -> None:
        self._runs.pop(key, None)
        self._rested.pop(key, None)
        self._addresses.free(key)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Look at a pod that has changed, once it has a node."""
        item = new or old
        if item is not None and (new is None or self._pods.load(new)["spec"].get("nodeName")):
            self.queue.add(item.key)

    def _node_seen(self, old: Item | None, new: Item | None) -> None:
        """Look at the pods of a node that has come or got its power back."""
        if new is None:
            if old is not None:
                self._addresses.forget_node(old.name)
            return
        before = None if old is None else self._nodes.load(old)
        if before is None or _runs_pods(before) != _runs_pods(self._nodes.load(new)):
            for key in self._by_node.keys(new.name):
                self.queue.add(key)


def _is_fleeting(run: PodRun, pod: Object, now: float) -> bool:
    return "startTime" not in (pod.get("status") or {}) and not run.has_address and run.due - now <= FLEETING_S


def _runs_pods(node: Object) -> bool:
    return is_managed(node) and not is_gone(node)


def _report(each: Happening, pod: Object) -> Report:
    meta = pod["metadata"]
    return Report(
        namespace=meta["namespace"],
        pod=meta["name"],
        uid=meta["uid"],
        host=pod["spec"]["nodeName"],
        type=each.type,
        reason=each.reason,
        message=each.message,
        field=each.field,
    )
