"""Base of the controllers of endpoints: keyed by Service, brought back by the pods that it selects."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.services.backends import Backend, backends, seen_of, selects
from orchtw.simulation.world import World
from orchtw.wire.objects import Object


class Selectors:
    """Selectors of all Services by namespace, kept up to date for all controllers of endpoints."""

    def __init__(self, world: World) -> None:
        self.services = world.informer("", "services")
        self._selectors: dict[str, dict[str, dict[str, str]]] = {}
        self.services.handle(self._seen)

    def any_in(self, namespace: str) -> bool:
        """Report whether any Service of a namespace has a selector."""
        return bool(self._selectors.get(namespace))

    def matching(self, namespace: str, labels: dict[str, str]) -> dict[str, dict[str, str]]:
        """Return the selectors of the Services that select these labels, by the Services' keys."""
        found = self._selectors.get(namespace) or {}
        return {key: selector for key, selector in found.items() if selector.items() <= labels.items()}

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        self._selectors.get(item.namespace, {}).pop(item.key, None)
        if new is not None and selects(service := self.services.load(new)):
            self._selectors.setdefault(new.namespace, {})[new.key] = service["spec"]["selector"]


class ServiceController(SimulatedController):
    """Controller of what follows the pods of Services."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._selectors = world.shared(Selectors)
        self.services = self._selectors.services
        self.pods = world.informer("", "pods")
        self._labelled = self.pods.index("label", _by_label)
        self.services.handle(self._service_seen)
        self.pods.handle(self._pod_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of Services and pods."""
        return (self.services, self.pods)

    async def sync(self, key: str) -> float | None:
        """Bring what follows a Service up to date, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        await self.sync_service(key, self.services.get(key))
        return None

    @abstractmethod
    async def sync_service(self, key: str, service: Object | None) -> None:
        """Bring what follows one Service up to date; `service` is shared, None if it has gone."""

    def backends(self, service: Object) -> list[Backend]:
        """Return the pods behind a Service, by name."""
        selector = service["spec"]["selector"]
        keys = self._labelled.keys(self._rarest(service["metadata"]["namespace"], selector))
        pods = [
            pod for pod in self.pods.of(keys) if selector.items() <= (pod["metadata"].get("labels") or {}).items()
        ]
        pods.sort(key=lambda pod: str(pod["metadata"]["name"]))
        return list(backends(service, pods))

    def _rarest(self, namespace: str, selector: dict[str, str]) -> str:
        """Return the term of a selector that the fewest pods have."""
        return min(_terms(namespace, selector), key=self._labelled.count)

    def _service_seen(self, old: Item | None, new: Item | None) -> None:
        item: Any = new or old
        self.queue.add(item.key)

    def _pod_seen(self, old: Item | None, new: Item | None) -> None:
        item: Any = new or old
        if not self._selectors.any_in(item.namespace):
            return
        states = [self.pods.load(each) for each in (old, new) if each is not None]
        if old is not None and new is not None and seen_of(states[0]) == seen_of(states[1]):
            return
        for pod in states:
            namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels") or {}
            for key, selector in self._selectors.matching(namespace, labels).items():
                self.gather(key, self._labelled.count(self._rarest(namespace, selector)))


def _terms(namespace: str, labels: dict[str, str]) -> list[str]:
    return [f"{namespace}/{name}={value}" for name, value in labels.items()]


def _by_label(pod: Object) -> Sequence[str]:
    """Return the terms of the labels of a pod; see `SharedInformer.index`."""
    return _terms(pod["metadata"]["namespace"], pod["metadata"].get("labels") or {})
