"""Pods that a budget expects: those that it selects, or those that their controllers are to have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from orchtw.client.interface import Client
from orchtw.errors import StatusError
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.workloads.owners import controller_of
from orchtw.simulation.workloads.pods import Pods, PodView
from orchtw.simulation.workloads.scale import Scaler
from orchtw.simulation.workloads.shares import share
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

_KINDS: Final = {
    "ReplicaSet": ("apps", "replicasets"),
    "Deployment": ("apps", "deployments"),
    "StatefulSet": ("apps", "statefulsets"),
    "ReplicationController": ("", "replicationcontrollers"),
}


class Expectation(msgspec.Struct, frozen=True):
    """Number of pods expected, number of those to stay healthy, names of pods without a controller."""

    expected: int
    desired: int
    unmanaged: Sequence[str] = ()


class NoScale(Exception):
    """Error: the number of pods to be had cannot be told; its text is for users."""


class Scales:
    """Numbers of pods that the controllers of pods are to have."""

    def __init__(self, world: World, client: Client) -> None:
        self._client = client
        self._scaler = Scaler(client, world.naming)
        self._pods = world.shared(Pods)
        self._groups = {kind: world.naming.group(group) for kind, (group, _) in _KINDS.items()}
        self.informers: Mapping[str, SharedInformer] = {
            kind: world.informer(*resource) for kind, resource in _KINDS.items()
        }

    async def expectation(self, budget: Object, pods: Sequence[PodView]) -> Expectation:
        """Return what a budget expects. Raises NoScale."""
        spec = budget["spec"]
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is not None:
            expected, unmanaged = await self._expected(pods)
            return Expectation(expected, max(0, expected - share(most, expected, up=True)), unmanaged)
        if isinstance(least, str) and least.endswith("%"):
            expected, unmanaged = await self._expected(pods)
            return Expectation(expected, share(least, expected, up=True), unmanaged)
        return Expectation(len(pods), share(least, len(pods), up=True))

    async def _expected(self, pods: Sequence[PodView]) -> tuple[int, list[str]]:
        """Return the sum of the scales of all controllers, and the names of the pods that have none."""
        owners = {pod.owner: pod for pod in pods if pod.owner}
        scales = dict([await self._scale(pod) for pod in owners.values()])
        return sum(scales.values()), [pod.name for pod in pods if not pod.owner]

    async def _scale(self, pod: PodView) -> tuple[str, int]:
        """Return the uid and the scale of a pod's controller, that of the Deployment behind a ReplicaSet."""
        owner = controller_of(next(iter(self._pods.objects([pod])), {"metadata": {}}))
        if owner is None:
            raise NoScale(f'found no controllers for pod "{pod.name}"')
        if not self._is_known(owner):
            return pod.owner, await self._other(owner, pod)
        found = self._find(owner, pod.namespace)
        above = None if found is None else controller_of(found)
        if above is not None and self._is_known(above):
            owner, found = above, self._find(above, pod.namespace)
        if found is None:
            raise NoScale(f'found no controllers for pod "{pod.name}"')
        return owner["uid"], found["spec"].get("replicas", 1)

    def _is_known(self, owner: Object) -> bool:
        group: str = owner["apiVersion"].rpartition("/")[0]
        return self._groups.get(owner["kind"]) == group

    def _find(self, owner: Object, namespace: str) -> Object | None:
        found = self.informers[owner["kind"]].get(f"{namespace}/{owner['name']}")
        return found if found is not None and found["metadata"]["uid"] == owner["uid"] else None

    async def _other(self, owner: Object, pod: PodView) -> int:
        resource = self._client.resource_of(owner["apiVersion"], owner["kind"])
        if resource is None:
            raise NoScale(f'found no controllers for pod "{pod.name}"')
        try:
            return (await self._scaler.read(resource, pod.namespace, owner["name"])).replicas
        except (StatusError, KeyError):
            qualified = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            raise NoScale(f"{qualified} does not implement the scale subresource") from None
