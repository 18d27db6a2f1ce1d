"""Pods of a StatefulSet by number: those that are to be, and those that are too many."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.stateful.identity import ordinal_of, start_of
from orchtw.wire.objects import Object


def is_healthy(pod: PodView) -> bool:
    """Report whether a pod is ready and not being deleted."""
    return pod.running_and_ready and not pod.terminating


class Members:
    """A StatefulSet's pods. `wanted` are the numbers that are to be, `condemned` the pods beyond, highest first."""

    def __init__(self, owner: Object, pods: Iterable[PodView]) -> None:
        self._name = owner["metadata"]["name"]
        start = start_of(owner)
        self.wanted = range(start, start + owner["spec"].get("replicas", 1))
        self._pods: dict[int, PodView] = {}
        for pod in pods:
            number = ordinal_of(self._name, pod.name)
            if number is not None:
                self._pods[number] = pod
        beyond = [number for number in self._pods if number not in self.wanted]
        self.condemned = [self._pods[number] for number in sorted(beyond, reverse=True)]

    def get(self, ordinal: int) -> PodView | None:
        """Return the pod of that number, or None."""
        return self._pods.get(ordinal)

    def ordinal(self, pod: PodView) -> int:
        """Return the number of a pod."""
        return ordinal_of(self._name, pod.name) or 0

    @property
    def first_unhealthy(self) -> PodView | None:
        """The pod of the lowest number that is not healthy; missing ones do not count."""
        unhealthy = [number for number, pod in self._pods.items() if not is_healthy(pod)]
        return self._pods[min(unhealthy)] if unhealthy else None
