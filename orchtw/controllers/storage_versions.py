"""Removal of entries that servers gone by now made in StorageVersions (reference CTRL-41)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.errors import NotFound
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.server_identity import is_of_server
from orchtw.rules.storage_versions import without
from orchtw.wire.objects import Object

CONCURRENCY: Final = 5


class StorageVersionCollector(Controller):
    """Controller keyed by names of StorageVersions, due when they change, and when the Lease of a named server
    goes.
    """

    name = "storage-version-gc"
    account = "storage-version-garbage-collector"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, CONCURRENCY)
        naming = host.naming
        self._leases = self.client.resource(naming.group("coordination.orch.io"), "v1", "leases")
        self._versions = self.client.resource(
            naming.group("internal.apiserver.orch.io"), "v1alpha1", "storageversions"
        )
        self._known: dict[str, frozenset[str]] = {}
        leases = Informer(self.client, self._leases, host.clock, host.random, host.turns)
        leases.handle(self._lease_seen)
        versions = Informer(self.client, self._versions, host.clock, host.random, host.turns)
        versions.handle(self._version_seen)
        self._informers = (leases, versions)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informers of Leases and StorageVersions."""
        return self._informers

    def _lease_seen(self, old: Item | None, new: Item | None) -> None:
        if old is None or new is not None or old.namespace != self.host.naming.system_namespace:
            return
        if is_of_server(old.metadata().get("labels") or {}, self.host.naming):
            for name, servers in self._known.items():
                if old.name in servers:
                    self.queue.add(name)

    def _version_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._known.pop(old.name, None)
            return
        self._known[new.name] = _servers(new.load())
        self.queue.add(new.name)

    async def reconcile(self, key: str) -> float | None:
        """Leave the statements of servers that have a Lease; an object of which none is left goes."""
        item = await self.client.find(self._versions, "", key)
        if item is None:
            return None
        found = item.load()
        gone = [server for server in _servers(found) if not await self._is_there(server)]
        if gone:
            with suppress(NotFound):
                await self._take_back(key, found, gone)
        return None

    async def _is_there(self, server: str) -> bool:
        lease = await self.client.find(self._leases, self.host.naming.system_namespace, server)
        return lease is not None

    async def _take_back(self, key: str, found: Object, gone: Sequence[str]) -> None:
        now = datetime.fromtimestamp(self.host.now(), UTC).isoformat(timespec="seconds")[:-6] + "Z"
        status = without(found["status"], gone, now)
        if status["storageVersions"]:
            await self.client.update(self._versions, "", key, {**found, "status": status}, "status")
            return
        meta = found["metadata"]
        seen = DeleteOptions(precondition_uid=meta["uid"], precondition_version=meta["resourceVersion"])
        await self.client.delete(self._versions, "", key, seen)


def _servers(found: Object) -> frozenset[str]:
    said = (found.get("status") or {}).get("storageVersions") or ()
    return frozenset(each.get("apiServerID", "") for each in said)
