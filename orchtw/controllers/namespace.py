"""The namespace controller: a deleted namespace loses its contents, then itself (reference CTRL-10, DEL-15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from orchtw.client.informer import Informer
from orchtw.client.interface import BACKGROUND, Item, Resource
from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.controllers.namespace_conditions import Progress, conditions
from orchtw.errors import MethodNotAllowed, NotFound, StatusError
from orchtw.registry.system_metadata import rfc3339
from orchtw.wire.objects import Object

FINALIZER_WAIT_S = 15
"""How long to wait at most before looking again at contents that others hold with finalizers."""
SWEEP_S = 5.0
"""After a namespace is gone: creates that were admitted while it was there have been stored or refused by then."""
DISCOVERY_S = 1.0
"""After the resources have changed: namespaces that a failing discovery holds up are looked at again."""


class NamespaceController(Controller):
    """Keys are names of namespaces."""

    name = "namespace"
    account = "namespace-controller"
    sees_all = True
    # Contents that wait for others are looked at again soon at first, then as often as kube's controller does.
    backoff = Backoff(first_s=0.25, limit_s=FINALIZER_WAIT_S)

    def __init__(self, host: ControllerHost, concurrency: int, *, resync_s: float = 0.0) -> None:
        super().__init__(host, concurrency)
        self._namespaces = self.client.resource("", "v1", "namespaces")
        clock, random, turns = host.clock, host.random, host.turns
        self._informer = Informer(self.client, self._namespaces, clock, random, turns, resync_s=resync_s)
        self._informer.handle(self._seen)
        self._held_up: set[str] = set()
        self._leave_discovery: Callable[[], None] | None = None

    @property
    def sources(self) -> Sequence[Informer]:
        """Namespaces alone: their contents are listed when they are to go."""
        return (self._informer,)

    def startService(self) -> None:
        """Start, and follow discovery."""
        super().startService()
        self._leave_discovery = self.client.follow_discovery(self._discovery_changed)

    def stopService(self) -> Deferred[None]:
        """Stop, and follow discovery no longer."""
        if self._leave_discovery is not None:
            self._leave_discovery()
            self._leave_discovery = None
        return super().stopService()

    def _discovery_changed(self, gone: Sequence[Resource], come: Sequence[Resource]) -> None:
        for name in self._held_up:
            self.queue.add_after(name, DISCOVERY_S)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Look at what begins to end, and once more at all of it in each period; not at our own reports."""
        if new is None:
            if old is not None:
                self.queue.add_after(old.name, SWEEP_S)
        elif new.owner_metadata().terminating and (old is None or old is new or not old.owner_metadata().terminating):
            self.queue.add(new.name)

    async def reconcile(self, key: str) -> float | None:
        """One round of deleting a namespace's contents; ends the namespace when none is left."""
        self._held_up.discard(key)
        try:
            namespace = await self.client.get(self._namespaces, "", key)
        except NotFound:
            await self._delete_contents(key)
            return None
        if not namespace["metadata"].get("deletionTimestamp"):
            return None
        if not namespace["spec"].get("finalizers"):
            return None
        progress = await self._delete_contents(key)
        if progress.discovery_failures:
            self._held_up.add(key)
        namespace = await self._report(namespace, progress)
        if not progress.done:
            raise Retry("contents remain")
        await self._finalize(namespace)
        return None

    async def _delete_contents(self, namespace: str) -> Progress:
        discovered = await self.client.discover()
        progress = Progress(discovered.failures)
        for resource in discovered.resources:
            if resource.namespaced and resource.allows("delete"):
                await self._delete_all(resource, namespace, progress)
        return progress

    async def _delete_all(self, resource: Resource, namespace: str, progress: Progress) -> None:
        """Delete the namespace's objects of one resource, and count what is left of them."""
        listable = resource.allows("list")
        if not listable and not resource.allows("deletecollection"):
            return
        try:
            if listable and not (await self.client.list(resource, namespace)).items:
                return
            await self.client.delete_collection(resource, namespace, BACKGROUND)
            left = (await self.client.list(resource, namespace)).items if listable else ()
        except StatusError as error:
            if resource.remote and isinstance(error, NotFound | MethodNotAllowed):
                return  # its server shows it, and has nothing there
            progress.failures.append(f"{resource.plural}.{resource.group}: {error.message}")
            return
        if left:
            progress.remaining[resource] = len(left)
            progress.finalizers += Counter(name for item in left for name in item.owner_metadata().finalizers)

    async def _report(self, namespace: Object, progress: Progress) -> Object:
        """The namespace with conditions that tell how far it is."""
        status = namespace["status"]
        now = rfc3339(int(self.host.now()))
        told = conditions(status.get("conditions") or (), progress.problems(), now, self.host.naming.legacy_types)
        if told is None:
            return namespace
        name = namespace["metadata"]["name"]
        changes = {"status": {"conditions": told}}
        return await self.client.patch(self._namespaces, "", name, changes, "status")

    async def _finalize(self, namespace: Object) -> None:
        """Take the server's finalizer out: the namespace goes unless another one holds it."""
        spec, name = namespace["spec"], namespace["metadata"]["name"]
        kept = [each for each in spec.get("finalizers") or () if each != self.host.naming.namespace_finalizer]
        finalized = {**namespace, "spec": {**spec, "finalizers": kept}}
        await self.client.update(self._namespaces, "", name, finalized, "finalize")
