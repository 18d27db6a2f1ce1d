"""Garbage collector: deletes objects after or before their owners, or orphans them (reference CTRL-13).

One reflector per resource keeps the graph; uncertain facts are looked up before anything is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.concurrency import each
from orchtw.client.event_recorder import EventRecorder
from orchtw.client.informer import Reflector
from orchtw.client.interface import Item, Resource
from orchtw.client.owner_references import OwnerReference, reference
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.controllers.owner_graph import Graph, OwnerNode, Presence
from orchtw.errors import Conflict, NotFound
from orchtw.naming.naming import Naming
from orchtw.responses.slices import Steps
from orchtw.rules.delete_options import DeleteOptions, Propagation
from orchtw.schema.kinds import GroupKind
from orchtw.wire.objects import Object
from orchtw.writes.propagation import FOREGROUND, ORPHAN

DISCOVERY_PERIOD_S = 30.0
DISCOVERY_DELAY_S = 0.1
"""Least time between two discoveries after changes of resources: hundreds that come together cost a few."""
SEARCH_PERIOD_S = 1.0
"""Least time between two searches of all namespaces for an owner that is only missing in the dependent's own."""
WARNINGS_REMEMBERED = 1000
"""Dependents and owners already reported by events, which are not reported at every attempt."""
PATCHES_AT_A_TIME = 64
PATCH_ATTEMPTS = 5
_IGNORED = frozenset({GroupKind("", "Event"), GroupKind("events.orch.io", "Event")})


class OwnerVerdict(Enum):
    """State of an owner reference: the owner exists, is gone, or waits for its dependents."""

    SOLID = 0
    DANGLING = 1
    WAITING = 2


class Unresolvable(Exception):
    """Error: a cluster-scoped object names a namespaced owner: it is kept, and nothing will change that."""


def is_followed(resource: Resource, naming: Naming) -> bool:
    """Report whether the garbage collector follows a resource: all that can be watched and deleted, but events."""
    ignored = GroupKind.of(resource.group, resource.kind, naming) in _IGNORED
    return resource.allows("delete", "list", "watch") and not ignored


class Monitor:
    """Sink that feeds the graph with one resource."""

    def __init__(self, graph: Graph, resource: Resource) -> None:
        self._graph = graph
        self._resource = resource

    def replaced(self, items: Sequence[Item]) -> Steps[None]:
        """Update the graph from a new list, as `ItemSink.replaced`; objects not on it have gone unseen."""
        graph, resource = self._graph, self._resource
        gone: set[str] = set()
        for nodes in graph.parts():
            gone.update(node.uid for node in nodes if node.is_one_of(resource))
            yield
        for item in items:
            gone.discard(item.owner_metadata().uid)
            self.changed(item)
            yield
        for uid in gone:
            graph.removed(uid)
            yield

    def changed(self, item: Item) -> None:
        if not self._graph.nodes and item.stands_alone():  # as after most restores of a thousand objects
            return
        meta = item.owner_metadata()
        if meta.uid:  # other API servers may leave it out
            self._graph.changed(self._resource, item.namespace, item.name, meta)

    def removed(self, item: Item) -> None:
        """Take in a removal; what another API server says of an object that lives elsewhere is ignored."""
        if not self._graph.nodes:  # no object has an owner: thousands may go at once, and none need be read
            return
        uid, place = item.owner_metadata().uid, (self._resource, item.namespace, item.name)
        self._graph.missing(*place, uid)
        node = self._graph.nodes.get(uid)
        if node is not None and node.is_at(*place):
            self._graph.removed(uid)


class GarbageCollector(Controller):
    """Controller keyed by uids of nodes."""

    name = "garbagecollector"
    account = "generic-garbage-collector"
    sees_all = True
    _log = Logger()

    def __init__(self, host: ControllerHost, concurrency: int) -> None:
        super().__init__(host, concurrency)
        self.graph = Graph(self.client.resource_of, self.queue.add)
        self._monitors: dict[Resource, Reflector] = {}
        self._discovering: Deferred[None] | None = None
        self._next_discovery: IDelayedCall | None = None
        self._leave_discovery: Callable[[], None] | None = None
        self._events = EventRecorder(self.client, "garbage-collector-controller", host.now)
        self._discovered = 0.0
        self._next_search = 0.0
        self._warned: set[tuple[str, str]] = set()

    @property
    def synced(self) -> bool:
        """Report whether every resource has been listed, but those whose lists their own servers refuse for good."""
        return bool(self._monitors) and all(
            each.synced or (resource.remote and each.refused) for resource, each in self._monitors.items()
        )

    @property
    def _knows_owners(self) -> bool:
        """Report whether this server's own resources have been listed: failing aggregated ones hold up no others."""
        return bool(self._monitors) and all(
            each.synced for resource, each in self._monitors.items() if not resource.remote
        )

    @property
    def sources(self) -> Sequence[Reflector]:
        """The reflectors of all resources."""
        return tuple(self._monitors.values())

    def startService(self) -> None:
        """Follow every resource; the queue is worked on once all of them have been listed."""
        super().startService()
        self._discover()
        self._leave_discovery = self.client.follow_discovery(self._resources_changed)

    def stopService(self) -> Deferred[None]:
        """Stop following resources, as a `Controller`."""
        if self._leave_discovery is not None:
            self._leave_discovery()
            self._leave_discovery = None
        if self._next_discovery is not None:
            self._next_discovery.cancel()
            self._next_discovery = None
        if self._discovering is not None:
            self._discovering.cancel()
        return super().stopService()

    def _discover(self) -> None:
        self._discovered = self.host.clock.seconds()
        self._next_discovery = self.host.clock.callLater(DISCOVERY_PERIOD_S, self._discover)
        self._discovering = Deferred.fromCoroutine(self._follow_all())
        self._discovering.addErrback(self._not_discovered)

    def _discover_soon(self) -> None:
        """Run discovery in the next turn, or DISCOVERY_DELAY_S after the last one."""
        call, now = self._next_discovery, self.host.clock.seconds()
        due = max(now, self._discovered + DISCOVERY_DELAY_S)
        if call is not None and call.active() and call.getTime() > due:
            call.reset(due - now)

    def _not_discovered(self, failure: Failure) -> None:
        """Log a failed discovery; the next period tries again."""
        if not isinstance(failure.value, CancelledError):
            self._log.failure("discovery failed", failure)

    async def _follow_all(self) -> None:
        """Follow all that is served, and nothing else; of what cannot be asked nothing is known."""
        discovered = await self.client.discover()
        unknown = {
            resource
            for resource in self._monitors
            if resource.remote and resource.api_version in discovered.failures
        }
        gone = self._monitors.keys() - set(discovered.resources) - unknown
        self._follow(tuple(gone), discovered.resources)

    def _resources_changed(self, gone: Sequence[Resource], come: Sequence[Resource]) -> None:
        """Follow the change; of an aggregated server it is only known that it came or went, so all is asked again."""
        if gone or come:
            self._follow(gone, come)
        else:
            self._discover_soon()

    def _follow(self, gone: Sequence[Resource], come: Sequence[Resource]) -> None:
        """Leave what is no longer served, and follow what has come up."""
        for resource in gone:
            if (reflector := self._monitors.pop(resource, None)) is not None:
                reflector.stop()
                self.graph.lost(resource)
        for resource in come:
            if resource in self._monitors or not is_followed(resource, self.host.naming):
                continue
            monitor = Monitor(self.graph, resource)
            reflector = Reflector(self.client, resource, monitor, self.host.clock, self.host.random, self.host.turns)
            self._monitors[resource] = reflector
            reflector.start()

    async def reconcile(self, key: str) -> float | None:
        """Do what is due about one node.

        Who waits for dependents waits for all lists: a dependent that nobody has seen would be overlooked.
        """
        node = self.graph.nodes.get(key)
        if node is None or node.presence is not Presence.PRESENT:
            return None
        if not (self.synced if node.orphaning or node.foreground else self._knows_owners):
            raise Retry("not all resources have been listed")
        if node.orphaning:
            await self._orphan(node)
        elif node.foreground:
            await self._end_foreground(node)
        elif not node.terminating and node.owners:
            await self._collect(node)
        return None

    async def _collect(self, node: OwnerNode) -> None:
        """Delete an object that nobody owns any more; drop references to owners that are gone otherwise."""
        if self.graph.settled(node):
            return
        try:
            for owner in node.owners:
                await self._judge(node, owner)
            if self.graph.settled(node):
                return
            await self._judge_live(node)
        except Unresolvable:
            return

    async def _judge_live(self, node: OwnerNode) -> None:
        """Judge the object by its current state, not as it was last seen."""
        meta = await self._live(node)
        if meta is None or meta.get("deletionTimestamp"):
            return
        references = meta.get("ownerReferences") or []
        verdicts = [await self._judge(node, reference(each)) for each in references]
        if not references or all(verdict is OwnerVerdict.SOLID for verdict in verdicts):
            return
        if OwnerVerdict.SOLID in verdicts:
            solid = [
                each for each, verdict in zip(references, verdicts, strict=True) if verdict is OwnerVerdict.SOLID
            ]
            await self._patch(node, meta, {"ownerReferences": solid})
        elif OwnerVerdict.WAITING in verdicts and not self.synced:
            raise Retry("not all dependents are known")
        elif OwnerVerdict.WAITING in verdicts and node.dependents:
            await self._delete_before_owner(node, meta, references)
        else:
            await self._delete(node, meta, _policy(meta.get("finalizers") or ()))

    async def _judge(self, node: OwnerNode, owner: OwnerReference) -> OwnerVerdict:
        """Return the state of an owner reference of `node`; looked up where the graph does not know.

        Raises Unresolvable, and Retry while the owner's kind is not served.
        """
        resource = self.client.resource_of(owner.api_version, owner.kind)
        if resource is None:
            if self.graph.has_seen_end(owner, node.namespace):
                return OwnerVerdict.DANGLING
            raise Retry(f"{owner.api_version} {owner.kind} is not served")
        if resource.namespaced and not node.namespace:
            await self._warn(node, owner, "")
            raise Unresolvable
        namespace = node.namespace if resource.namespaced else ""
        known = self.graph.nodes.get(owner.uid)
        if known is None or not known.is_at(resource, namespace, owner.name):
            found = await self._exists(resource, namespace, owner)
            known = self.graph.nodes.get(owner.uid)
            if not found:
                if resource.namespaced:
                    await self._warn_if_elsewhere(node, owner, resource)
                return OwnerVerdict.DANGLING
        elif known.presence is Presence.ABSENT:
            return OwnerVerdict.DANGLING
        return OwnerVerdict.WAITING if known is not None and known.foreground else OwnerVerdict.SOLID

    async def _exists(self, resource: Resource, namespace: str, owner: OwnerReference) -> bool:
        """Report whether exactly the referenced object exists now."""
        item = await self.client.find(resource, namespace, owner.name)
        meta = item.owner_metadata() if item is not None else None
        if meta is not None and meta.uid == owner.uid:
            self.graph.found(resource, namespace, owner.name, meta)
            return True
        self.graph.missing(resource, namespace, owner.name, owner.uid)
        return False

    async def _delete_before_owner(self, node: OwnerNode, meta: Object, references: list[Object]) -> None:
        """Delete a dependent in a foreground deletion, its own dependents first; circles are cut."""
        if any(dependent.foreground for dependent in node.dependents or ()):
            unblocked = [{**each, "blockOwnerDeletion": False} for each in references]
            meta = (await self._patch(node, meta, {"ownerReferences": unblocked}))["metadata"]
        await self._delete(node, meta, "Foreground")

    async def _delete(self, node: OwnerNode, meta: Object, policy: Propagation) -> None:
        options = DeleteOptions(
            propagation=policy, precondition_uid=node.uid, precondition_version=meta["resourceVersion"]
        )
        assert node.resource is not None
        try:
            await self.client.delete(node.resource, node.namespace, node.name, options)
        except NotFound:
            self.graph.removed(node.uid)

    async def _end_foreground(self, node: OwnerNode) -> None:
        """Let an object go once nothing blocks its deletion."""
        if not node.blocking:
            await self._take_finalizer(node, FOREGROUND)

    async def _orphan(self, node: OwnerNode) -> None:
        """Take the owner out of all its dependents, then let it go."""

        async def let_go(dependent: OwnerNode) -> None:
            await self._drop_owner(dependent, node.uid)

        await each(list(node.dependents or ()), let_go, PATCHES_AT_A_TIME)
        await self._take_finalizer(node, ORPHAN)

    async def _drop_owner(self, node: OwnerNode, uid: str) -> None:
        for _ in range(PATCH_ATTEMPTS):
            meta = await self._live(node)
            if meta is None:
                return
            references = meta.get("ownerReferences") or []
            kept = [each for each in references if each.get("uid") != uid]
            if len(kept) == len(references):
                return
            try:
                await self._patch(node, meta, {"ownerReferences": kept or None})
            except NotFound:
                return
            except Conflict:
                continue
            return
        raise Retry(f"{node.name} changes too fast")

    async def _take_finalizer(self, node: OwnerNode, finalizer: str) -> None:
        meta = await self._live(node)
        present = (meta or {}).get("finalizers") or []
        if meta is not None and finalizer in present:
            kept = [each for each in present if each != finalizer]
            await self._patch(node, meta, {"finalizers": kept or None})

    async def _live(self, node: OwnerNode) -> Object | None:
        """Return the current metadata of a node's object; None, and remove the node, if it is gone."""
        assert node.resource is not None
        item = await self.client.find(node.resource, node.namespace, node.name)
        meta = item.metadata() if item is not None else None
        if meta is None or meta["uid"] != node.uid:
            self.graph.removed(node.uid)
            return None
        return meta

    async def _patch(self, node: OwnerNode, meta: Object, changes: Object) -> Object:
        """Change metadata of exactly the object that was looked at; raises Conflict when it is another by now."""
        assert node.resource is not None
        identity = {"uid": node.uid, "resourceVersion": meta["resourceVersion"]}
        patch = {"metadata": {**identity, **changes}}
        return await self.client.patch(node.resource, node.namespace, node.name, patch)

    async def _warn_if_elsewhere(self, node: OwnerNode, owner: OwnerReference, resource: Resource) -> None:
        """Tell when an owner is missing only because it lives in another namespace."""
        known = self.graph.nodes.get(owner.uid)
        if known is not None and known.presence is Presence.PRESENT:
            await self._warn(node, owner, node.namespace)
            return
        now = self.host.clock.seconds()
        if now < self._next_search:
            return
        self._next_search = now + SEARCH_PERIOD_S
        named = (await self.client.list(resource, fields=f"metadata.name={owner.name}")).items
        if any(item.owner_metadata().uid == owner.uid for item in named):
            await self._warn(node, owner, node.namespace)

    async def _warn(self, node: OwnerNode, owner: OwnerReference, namespace: str) -> None:
        assert node.resource is not None
        if (node.uid, owner.uid) in self._warned:
            return
        if len(self._warned) >= WARNINGS_REMEMBERED:
            self._warned.clear()
        self._warned.add((node.uid, owner.uid))
        place = f"{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}"
        involved = {
            "kind": node.resource.kind,
            "namespace": node.namespace,
            "name": node.name,
            "uid": node.uid,
            "apiVersion": node.resource.api_version,
        }
        message = f'ownerRef [{place}] does not exist in namespace "{namespace}"'
        await self._events.record(involved, "Warning", "OwnerRefInvalidNamespace", message)


def _policy(finalizers: Sequence[str]) -> Propagation:
    """Return the propagation of deleting an object whose owners are gone: by its finalizers, else background."""
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
