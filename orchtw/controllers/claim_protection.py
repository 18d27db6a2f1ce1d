"""pvc-protection controller: a claim is removed once no pod uses it any more (reference CTRL-28)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from orchtw.client.informer import Informer, Reflector
from orchtw.client.interface import Item
from orchtw.controllers.claim_users import ClaimUsers
from orchtw.controllers.controller import Controller, ControllerHost, Published, WorkSource
from orchtw.errors import NotFound
from orchtw.rules.storage_protection import CLAIM_FINALIZER


class ClaimProtection(Controller):
    """Controller keyed by `namespace/name` of claims."""

    name = "pvc-protection"
    account = "pvc-protection-controller"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, 1)
        self._claims = self.client.resource("", "v1", "persistentvolumeclaims")
        self._finalizer = host.naming.translate(CLAIM_FINALIZER)
        self._ending: dict[str, set[str]] = {}
        """Names of claims that wait for their pods, by namespace."""
        pods = self.client.resource("", "v1", "pods")
        self._users = ClaimUsers(self.client, pods, host.turns, self._freed)
        self._pods = Reflector(self.client, pods, self._users, host.clock, host.random, host.turns)
        self._informer = Informer(self.client, self._claims, host.clock, host.random, host.turns)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Pods before claims, so that nothing is missed of their pods."""
        return (self._pods, self._informer)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._ended(old)
            return
        owners = new.owner_metadata()
        if owners.terminating is (self._finalizer in owners.finalizers):
            self.queue.add(new.key)

    def _freed(self, namespace: str) -> None:
        for name in self._ending.get(namespace, ()):
            self.queue.add(f"{namespace}/{name}")

    def _ended(self, item: Item) -> None:
        names = self._ending.get(item.namespace, set())
        names.discard(item.name)
        if not names:
            self._ending.pop(item.namespace, None)
            self._users.forget(item.namespace)

    async def reconcile(self, key: str) -> float | None:
        """Let go of a claim that ends and that nobody uses; hold on to one that was made without the finalizer."""
        namespace, _, name = key.partition("/")
        item = await self.client.find(self._claims, namespace, name)
        if item is None:
            return None
        owners = item.owner_metadata()
        if owners.terminating is not (self._finalizer in owners.finalizers):
            return None
        if owners.terminating:
            self._ending.setdefault(namespace, set()).add(name)
            if await self._users.used(namespace, name):
                return None
        claim = item.load()
        others, meta = [each for each in owners.finalizers if each != self._finalizer], claim["metadata"]
        meta["finalizers"] = others if owners.terminating else [*others, self._finalizer]
        with suppress(NotFound):
            wanted = Published(namespace, name, [meta["uid"], meta["finalizers"]])
            wait_s = await self.publish(
                self._claims, wanted, item.load(), lambda: self.client.update(self._claims, namespace, name, claim)
            )
            if wait_s is not None:
                return wait_s
        if owners.terminating:
            self._ended(item)
        return None
