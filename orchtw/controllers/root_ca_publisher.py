"""The publisher of authorities: a ConfigMap in each namespace says what pods know this server by
(reference CTRL-24).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, Host
from orchtw.errors import AlreadyExists, NotFound
from orchtw.objects import Object

CONCURRENCY: Final = 16
KEY: Final = "ca.crt"


class RootCAPublisher(Controller):
    """Keys are names of namespaces."""

    name = "root-ca-cert-publisher"
    account = "root-ca-cert-publisher"

    def __init__(self, host: Host, root_ca_pem: str) -> None:
        super().__init__(host, CONCURRENCY)
        naming = host.naming
        self._name = naming.root_ca_config_map
        self._data = {KEY: root_ca_pem}
        self._description = f"{naming.label_domain}/description"
        self._text = (
            f"Contains a CA bundle that can be used to verify the {naming.api_server} when using internal endpoints "
            f"such as the internal service IP or {naming.service_host}. No other usage is guaranteed."
        )
        self._namespaces = self.client.resource("", "v1", "namespaces")
        self._maps = self.client.resource("", "v1", "configmaps")
        self._known = Informer(self.client, self._namespaces, host.clock, host.random)
        self._known.handle(self._namespace_seen)
        self._present = Informer(self.client, self._maps, host.clock, host.random)
        self._present.handle(self._map_seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """ConfigMaps and namespaces."""
        return (self._present, self._known)

    def _namespace_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and old is None:
            self.queue.add(new.name)

    def _map_seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is not None and item.name == self._name and old is not None:
            self.queue.add(item.namespace)

    async def reconcile(self, key: str) -> float | None:
        """Make the ConfigMap of a namespace, or put right what somebody changed."""
        namespace = await self.client.find(self._namespaces, "", key)
        if namespace is None or namespace.owner_metadata().terminating:
            return None
        found = await self.client.find(self._maps, key, self._name)
        with suppress(AlreadyExists, NotFound):
            if found is None:
                await self.client.create(self._maps, key, self._wanted(key))
            elif (changed := self._corrected(found.load())) is not None:
                await self.client.update(self._maps, key, self._name, changed)
        return None

    def _wanted(self, namespace: str) -> Object:
        meta = {"name": self._name, "namespace": namespace, "annotations": {self._description: self._text}}
        return {"metadata": meta, "data": dict(self._data)}

    def _corrected(self, obj: Object) -> Object | None:
        """The object as it should be; None: it is."""
        annotations = obj["metadata"].get("annotations") or {}
        if obj.get("data") == self._data and not obj.get("binaryData") and annotations.get(self._description):
            return None
        meta = {**obj["metadata"], "annotations": {**annotations, self._description: self._text}}
        return {**obj, "metadata": meta, "data": dict(self._data), "binaryData": {}}
