"""Controller of DaemonSets (reference SIM-45)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.concurrency import each
from orchtw.client.interface import Item
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.controllers.controller import WorkSource
from orchtw.errors import StatusError
from orchtw.registry.groups.apps.rolling_updates import ROLLING
from orchtw.responses.slices import Steps, in_turns
from orchtw.simulation.workloads.batches import AT_A_TIME, slow_start
from orchtw.simulation.workloads.daemons.backoffs import FailureBackoffs
from orchtw.simulation.workloads.daemons.eligibility import Eligibilities
from orchtw.simulation.workloads.daemons.node_views import NodeView, NodeViews
from orchtw.simulation.workloads.daemons.placement import judge
from orchtw.simulation.workloads.daemons.status import daemon_status
from orchtw.simulation.workloads.daemons.template import daemon_maker
from orchtw.simulation.workloads.daemons.updates import margins, next_steps
from orchtw.simulation.workloads.hashes import REVISION_HASH
from orchtw.simulation.workloads.owners import controller_of
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.revisions import Collision, Revisions, name_of
from orchtw.simulation.workloads.waiting import until_available
from orchtw.simulation.workloads.workload import NORMAL, WARNING, Workload
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

MOST_AT_ONCE: Final = 250
"""Most pods that one look at a DaemonSet creates, and most that it deletes."""

ByNode = dict[str, list[PodView]]


class Work:
    """Pods to delete and nodes that need a pod."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.ended: list[PodView] = []
        self.surplus: list[PodView] = []


class DaemonSetController(Workload):
    """Controller `daemonset`, keyed by `namespace/name` of DaemonSets."""

    name = "daemonset"
    account = "daemon-set-controller"
    component = "daemonset-controller"
    plural = "daemonsets"
    kind = "DaemonSet"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.nodes = world.shared(NodeViews)
        self.revisions = Revisions(world, self.client, self.owners.resource, REVISION_HASH)
        self._eligibilities = Eligibilities(world.naming)
        self._backoffs = FailureBackoffs()
        self.nodes.handle(self._node_seen)
        self.revisions.informer.handle(self._revision_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of nodes, pods, revisions and DaemonSets."""
        return (self.nodes.informer, self.pods.informer, self.revisions.informer, self.owners)

    async def sync_owner(self, key: str, owner: Object) -> float | None:
        """Create and delete pods node by node, go on with the update, and write the status."""
        if self.selector(owner).empty:
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            await self.tell(owner, WARNING, "SelectingAll", text)
            return None
        if owner["metadata"].get("deletionTimestamp"):
            return None
        await self.claimed(owner)
        known = await self.revisions.of(owner)
        update = await self._update_of(owner, known)
        digest = update["metadata"]["labels"][REVISION_HASH]
        try:
            await self._place(key, owner, digest)
            if owner["spec"]["updateStrategy"].get("type") == ROLLING:
                await self._roll(key, owner, digest)
        finally:
            await self._report(owner, digest)
        pods = self.pods.owned(owner["metadata"]["uid"])
        await self._truncate(owner, name_of(update), pods)
        return until_available(pods, owner["spec"].get("minReadySeconds") or 0, self.clock.now())

    async def _update_of(self, owner: Object, known: Sequence[Object]) -> Object:
        """Return the revision of the present template. Raises Collision, which the status counts."""
        try:
            return await self.revisions.current(owner, known)
        except Collision:
            status = owner.get("status") or {}
            await self.write_status(owner, {**status, "collisionCount": (status.get("collisionCount") or 0) + 1})
            raise

    async def _truncate(self, owner: Object, update: str, pods: Sequence[PodView]) -> None:
        """Delete old revisions, but those of which there are pods."""
        known = await self.revisions.of(owner)
        hashes = {pod.labels.get(REVISION_HASH) for pod in pods}
        used = {name_of(each) for each in known if each["metadata"]["labels"].get(REVISION_HASH) in hashes}
        await self.revisions.truncate(owner, known, used | {update})

    def _by_node(self, owner: Object) -> ByNode:
        """Return the owner's pods by the node that they run on, or are for."""
        found: ByNode = {}
        for pod in self.pods.owned(owner["metadata"]["uid"]):
            if pod.target:
                found.setdefault(pod.target, []).append(pod)
        return found

    async def _place(self, key: str, owner: Object, digest: str) -> None:
        """Bring every node to one pod, or none."""
        work = await in_turns(self.host.turns, self._find_work(owner, digest))
        going = list(work.surplus)
        for pod in work.ended:
            if await self._replaces(key, owner, pod):
                going.append(pod)
        await self._execute(key, owner, going, work.nodes, digest)

    def _find_work(self, owner: Object, digest: str) -> Steps[Work]:
        work, by_node, now = Work(), self._by_node(owner), self.clock.now()
        eligibility, surges = self._eligibilities.of(owner), margins(owner, 1)[0] > 0
        for node in tuple(self.nodes.views.values()):
            pods = by_node.pop(node.name, ())
            found = judge(owner, eligibility.verdict(node), pods, digest, now, surges=surges)
            if found.needed:
                work.nodes.append(node.name)
            work.ended += found.ended
            work.surplus += found.surplus
            yield
        for pods in by_node.values():  # of nodes that have gone
            work.surplus += [pod for pod in pods if not pod.node and not pod.terminating]
        return work

    async def _replaces(self, key: str, owner: Object, pod: PodView) -> bool:
        """Report whether an ended pod is replaced now; a failed one that comes again and again has to wait."""
        where = f"daemon pod {pod.namespace}/{pod.name} on node {pod.target}"
        if pod.phase == "Succeeded":
            text = f"Found succeeded {where}, will try to delete it"
            await self.tell(owner, NORMAL, "SucceededDaemonPod", text)
            return True
        meta = owner["metadata"]
        place = f"{meta['uid']}/{meta.get('generation', 0)}/{pod.target}"
        wait_s = self._backoffs.left_s(place, self.clock.seconds())
        if wait_s:
            self.later(key, wait_s)
            return False
        await self.tell(owner, WARNING, "FailedDaemonPod", f"Found failed {where}, will try to kill it")
        return True

    async def _roll(self, key: str, owner: Object, digest: str) -> None:
        """Replace pods of old templates, as many at a time as may be missing or too many."""
        eligibility = self._eligibilities.of(owner)
        desired = sum(eligibility.verdict(node)[0] for node in tuple(self.nodes.views.values()))
        going, nodes = next_steps(owner, self._by_node(owner), desired, digest, self.clock.now())
        await self._execute(key, owner, going, nodes, digest)

    async def _execute(
        self, key: str, owner: Object, going: Sequence[PodView], nodes: Sequence[str], digest: str
    ) -> None:
        """Create and delete pods, a part of them if there are very many: then the key comes back."""
        make = daemon_maker(owner, self.claimer.reference(owner), digest, self.naming)

        async def create(index: int) -> None:
            await self.create_told(owner, make(nodes[index]))

        async def delete(pod: PodView) -> None:
            await self.delete_told(owner, pod)

        try:
            await slow_start(min(len(nodes), MOST_AT_ONCE), create)
        except StatusError as error:
            if not ends_with_namespace(error):
                raise
        await each(going[:MOST_AT_ONCE], delete, AT_A_TIME)
        if max(len(nodes), len(going)) > MOST_AT_ONCE:
            self.queue.add(key)

    async def _report(self, owner: Object, digest: str) -> None:
        views, eligibility = tuple(self.nodes.views.values()), self._eligibilities.of(owner)
        steps = daemon_status(owner, views, self._by_node(owner), eligibility, digest, self.clock.now())
        await self.write_status(owner, await in_turns(self.host.turns, steps))

    def _revision_seen(self, old: Item | None, new: Item | None) -> None:
        """Bring back the owner of a changed revision: one that was deleted comes anew."""
        item = new or old
        owner = None if item is None else controller_of(self.revisions.informer.load(item))
        if item is not None and owner is not None and owner["kind"] == self.kind:
            self.queue.add(f"{item.namespace}/{owner['name']}")

    def _node_seen(self, old: NodeView | None, new: NodeView | None) -> None:
        """Bring back the DaemonSets to which a node has become another one."""
        for key in self.owners.keys:
            owner = self.owners.get(key)
            if owner is None:
                continue
            eligibility = self._eligibilities.of(owner)
            verdicts = [None if node is None else eligibility.verdict(node) for node in (old, new)]
            if old is None or new is None or verdicts[0] != verdicts[1]:
                self.queue.add(key)
        if new is None and old is not None:
            self._eligibilities.forget(old.name)
