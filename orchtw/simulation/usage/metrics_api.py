"""Reads of the metrics API (reference SIM-26)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from orchtw.client.interface import Client, Item
from orchtw.errors import NotFound
from orchtw.naming.naming import Naming
from orchtw.responses.slices import Steps, in_turns
from orchtw.simulation.usage.documents import (
    GROUP,
    VERSION,
    api_group,
    api_resources,
    metrics_list,
    node_metrics,
    pod_metrics,
)
from orchtw.simulation.usage.usage import SYSTEM, Usage, total, used
from orchtw.watch.turns import ReactorTurns
from orchtw.wire.objects import Object

_NO_PATH: Final = "the server could not find the requested resource"

Query = dict[str, list[str]]


class MetricsApi:
    """Answers of the group; `now` is the simulated time in seconds since the epoch."""

    def __init__(self, client: Client, naming: Naming, turns: ReactorTurns, now: Callable[[], float]) -> None:
        self._client = client
        self._naming = naming
        self._turns = turns
        self._now = now
        self.root: Final = f"/apis/{naming.group(GROUP)}"

    async def answer(self, path: str, query: Query) -> Object:
        """Return the document at a path. Raises NotFound (404), BadRequest (400) for invalid selectors."""
        if path == self.root:
            return api_group(self._naming)
        if path == f"{self.root}/{VERSION}":
            return api_resources(self._naming)
        parts = path.removeprefix(f"{self.root}/{VERSION}/").split("/")
        match parts:
            case ["nodes"]:
                return await self._nodes("", _selectors(query))
            case ["nodes", name]:
                return self._only("nodes", name, await self._nodes(name, _Selectors()))
            case ["pods"]:
                return await self._pods("", "", _selectors(query))
            case ["namespaces", namespace, "pods"]:
                return await self._pods(namespace, "", _selectors(query))
            case ["namespaces", namespace, "pods", name]:
                return self._only("pods", name, await self._pods(namespace, name, _Selectors()))
        raise NotFound(_NO_PATH)

    async def on_node(self, node: str) -> dict[tuple[str, str], dict[str, Usage]]:
        """Return what the pods on a node use, by namespace and name."""
        items = await self._list("pods", "", _Selectors(fields=f"spec.nodeName={node}"))
        made: dict[tuple[str, str], dict[str, Usage]] = {}

        def steps() -> Steps[None]:
            for item in items:
                pod = item.load()
                made[item.namespace, item.name] = used(pod)
                yield

        await in_turns(self._turns, steps())
        return made

    async def _pods(self, namespace: str, name: str, selectors: _Selectors) -> Object:
        items = await self._found("pods", namespace, name, selectors)
        now, naming = self._now(), self._naming

        def steps() -> Steps[list[Object]]:
            made = []
            for item in items:
                pod = item.load()
                if containers := used(pod):
                    made.append(pod_metrics(naming, pod, containers, now))
                yield
            return made

        return metrics_list(naming, "PodMetrics", await in_turns(self._turns, steps()))

    async def _nodes(self, name: str, selectors: _Selectors) -> Object:
        nodes = await self._found("nodes", "", name, selectors)
        pods = await self._list("pods", "", _Selectors(fields=f"spec.nodeName={name}" if name else ""))
        now, naming = self._now(), self._naming

        def steps() -> Steps[list[Object]]:
            sums: dict[str, Usage] = {}
            for item in pods:
                pod = item.load()
                node = pod["spec"].get("nodeName", "")
                sums[node] = sums.get(node, SYSTEM).plus(total(used(pod).values()))
                yield
            made = []
            for item in nodes:
                made.append(node_metrics(naming, item.load(), sums.get(item.name, SYSTEM), now))
                yield
            return made

        return metrics_list(naming, "NodeMetrics", await in_turns(self._turns, steps()))

    def _only(self, plural: str, name: str, found: Object) -> Object:
        items: Iterable[Object] = found["items"]
        for only in items:
            return only
        raise NotFound.of(plural, self._naming.group(GROUP), name)

    async def _found(self, plural: str, namespace: str, name: str, selectors: _Selectors) -> Sequence[Item]:
        if not name:
            return await self._list(plural, namespace, selectors)
        item = await self._client.find(self._client.resource("", "v1", plural), namespace, name)
        return [] if item is None else [item]

    async def _list(self, plural: str, namespace: str, selectors: _Selectors) -> Sequence[Item]:
        resource = self._client.resource("", "v1", plural)
        found = await self._client.list(resource, namespace, labels=selectors.labels, fields=selectors.fields)
        return found.items


class _Selectors(msgspec.Struct, frozen=True, kw_only=True):
    """Selectors of a list."""

    labels: str = ""
    fields: str = ""


def _selectors(query: Query) -> _Selectors:
    return _Selectors(labels=query.get("labelSelector", [""])[0], fields=query.get("fieldSelector", [""])[0])

