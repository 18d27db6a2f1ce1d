"""Namespace controller: empties a deleted namespace, then removes it (reference CTRL-10, DEL-15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from twisted.internet.defer import Deferred

from orchtw.client.concurrency import each
from orchtw.client.informer import Informer
from orchtw.client.interface import BACKGROUND, Item, Resource
from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.controllers.namespace_conditions import Progress, conditions
from orchtw.errors import Conflict, MethodNotAllowed, NotFound, StatusError
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

FINALIZER_WAIT_S = 15
"""Longest delay before the next look at contents held by finalizers."""
DELETES_AT_A_TIME = 64
"""Concurrent deletes of one resource's objects: the store commits together what is queued together."""
SWEEP_S = 5.0
"""Delay after a namespace is gone: creates admitted before have been stored or refused by then."""
DISCOVERY_S = 1.0
"""Delay after the resources have changed: namespaces held up by a failing discovery are tried again."""


class NamespaceController(Controller):
    """Controller keyed by names of namespaces. A deleted one is left alone for `grace_s`.

    `pods_first`: everything else in a namespace stays until no pod is left.
    """

    name = "namespace"
    account = "namespace-controller"
    sees_all = True
    # Contents that wait for others are looked at again soon at first, then as often as kube's controller does.
    backoff = Backoff(first_s=0.25, limit_s=FINALIZER_WAIT_S)

    def __init__(
        self,
        host: ControllerHost,
        concurrency: int,
        *,
        resync_s: float = 0.0,
        grace_s: float = 0.0,
        pods_first: bool = False,
    ) -> None:
        super().__init__(host, concurrency)
        self._grace_s = grace_s
        self._pods_first = pods_first
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
            self._begin(new.name)

    def _begin(self, name: str) -> None:
        if self._grace_s:
            self.queue.add_after(name, self._grace_s)
        else:
            self.queue.add(name)

    async def reconcile(self, key: str) -> float | None:
        """Make one round of deleting a namespace's contents; ends the namespace when none is left."""
        self._held_up.discard(key)
        try:
            namespace = await self.client.get(self._namespaces, "", key)
        except NotFound:
            await self._delete_contents(key, "")
            return None
        if not namespace["metadata"].get("deletionTimestamp"):
            return None
        if not namespace["spec"].get("finalizers"):
            return None
        progress = await self._delete_contents(key, namespace["metadata"]["uid"])
        if progress.discovery_failures:
            self._held_up.add(key)
        namespace = await self._report(namespace, progress)
        if not progress.done:
            raise Retry("contents remain")
        await self._finalize(namespace)
        return None

    async def _delete_contents(self, namespace: str, uid: str) -> Progress:
        """Delete the contents of the namespace with this uid; empty: of one that is gone.

        Raises Retry as soon as another one has its name, whose contents stay.
        """
        discovered = await self.client.discover()
        progress = Progress(discovered.failures)
        deletable = [each for each in discovered.resources if each.namespaced and each.allows("delete")]
        if self._pods_first:  # what they use stays until they are gone
            deletable.sort(key=lambda resource: not _are_pods(resource))
        for resource in deletable:
            await self._delete_all(resource, namespace, uid, progress)
            if self._pods_first and _are_pods(resource) and (progress.failures or progress.remaining):
                break
        return progress

    async def _check_same(self, namespace: str, uid: str) -> None:
        found = await self.client.find(self._namespaces, "", namespace)
        meta = None if found is None else found.owner_metadata()
        if ("" if meta is None else meta.uid) != uid or (meta is not None and not meta.terminating):
            raise Retry("another namespace now has this name")

    async def _delete_all(self, resource: Resource, namespace: str, uid: str, progress: Progress) -> None:
        """Delete the namespace's objects of one resource, and count what is left of them."""
        listable = resource.allows("list")
        if not listable and not resource.allows("deletecollection"):
            return
        try:
            found = (await self.client.list(resource, namespace)).items if listable else ()
            if listable and not found:
                return
            # After the list: what is on it then belongs to this namespace, whatever is made under its name later.
            await self._check_same(namespace, uid)
            if resource.remote or not listable:
                await self.client.delete_collection(resource, namespace, BACKGROUND)
            else:
                await each(found, partial(self._delete, resource), DELETES_AT_A_TIME)
            left = (await self.client.list(resource, namespace)).items if listable else ()
        except StatusError as error:
            if resource.remote and isinstance(error, NotFound | MethodNotAllowed):
                return  # its server shows it, and has nothing there
            progress.failures.append(f"{resource.plural}.{resource.group}: {error.message}")
            return
        if left:
            progress.remaining[resource] = len(left)
            progress.finalizers += Counter(name for item in left for name in item.owner_metadata().finalizers)

    async def _delete(self, resource: Resource, item: Item) -> None:
        """Delete exactly the object that was listed, unless it is gone."""
        options = msgspec.structs.replace(BACKGROUND, precondition_uid=item.owner_metadata().uid or None)
        with suppress(NotFound, Conflict):
            await self.client.delete(resource, item.namespace, item.name, options)

    async def _report(self, namespace: Object, progress: Progress) -> Object:
        """Return the namespace with conditions that show the progress."""
        status = namespace["status"]
        now = rfc3339(int(self.host.now()))
        told = conditions(status.get("conditions") or (), progress.problems(), now, self.host.naming.legacy_types)
        if told is None:
            return namespace
        name, uid = namespace["metadata"]["name"], namespace["metadata"]["uid"]
        changes = {"metadata": {"uid": uid}, "status": {"conditions": told}}
        return await self.client.patch(self._namespaces, "", name, changes, "status")

    async def _finalize(self, namespace: Object) -> None:
        """Take the server's finalizer out: the namespace goes unless another one holds it."""
        spec, name = namespace["spec"], namespace["metadata"]["name"]
        kept = [each for each in spec.get("finalizers") or () if each != self.host.naming.namespace_finalizer]
        finalized = {**namespace, "spec": {**spec, "finalizers": kept}}
        await self.client.update(self._namespaces, "", name, finalized, "finalize")


def _are_pods(resource: Resource) -> bool:
    return (resource.group, resource.plural) == ("", "pods")
