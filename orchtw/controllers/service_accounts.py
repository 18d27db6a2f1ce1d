"""The service account controller: each namespace has an account `default` (reference CTRL-19)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, Host
from orchtw.errors import AlreadyExists, NotFound

DEFAULT: Final = "default"
CONCURRENCY: Final = 16


class ServiceAccountController(Controller):
    """Keys are names of namespaces."""

    name = "serviceaccount"
    account = "service-account-controller"

    def __init__(self, host: Host) -> None:
        super().__init__(host, CONCURRENCY)
        self._namespaces = self.client.resource("", "v1", "namespaces")
        self._accounts = self.client.resource("", "v1", "serviceaccounts")
        self._known = Informer(self.client, self._namespaces, host.clock, host.random)
        self._known.handle(self._namespace_seen)
        self._present = Informer(self.client, self._accounts, host.clock, host.random)
        self._present.handle(self._account_seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Accounts before namespaces, so that the first look at one knows its account."""
        return (self._present, self._known)

    def _namespace_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and old is None:
            self.queue.add(new.name)

    def _account_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None and old is not None and old.name == DEFAULT:
            self.queue.add(old.namespace)

    async def reconcile(self, key: str) -> float | None:
        """Make the account of a namespace that lacks it and is not being deleted."""
        namespace = await self.client.find(self._namespaces, "", key)
        if namespace is None or namespace.owner_metadata().terminating:
            return None
        if await self.client.find(self._accounts, key, DEFAULT) is None:
            with suppress(AlreadyExists, NotFound):
                await self.client.create(self._accounts, key, {"metadata": {"name": DEFAULT, "namespace": key}})
        return None
