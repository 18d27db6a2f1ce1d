"""Size and pace of the load, and the spread of objects and times that follow from them."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

LEASE_S: Final = 10.0
"""Interval at which a node agent renews its lease."""

STATUS_RENEWALS: Final = 30
"""Renewals between two reports of a node's status: one in five minutes."""

Workloads = Literal["auto", "server", "tool"]
"""Side that makes the pods of Deployments."""


class LoadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Load of one run. `churn` is in pods replaced per second; `informers` follow each of three resources."""

    nodes: int = 10
    pods: int = 100
    deployments: int = 10
    churn: float = 1.0
    informers: int = 3
    duration_s: float = 60.0
    interval_s: float = 10.0
    namespaces: int = 1
    prefix: str = "orch-load"
    seed: int = 0
    workloads: Workloads = "auto"

    def namespace(self, number: int) -> str:
        """Return the namespace of a numbered pod or Deployment: they take turns."""
        place = number % self.namespaces
        return self.prefix if self.namespaces == 1 else f"{self.prefix}-{place}"

    def all_namespaces(self) -> list[str]:
        """Return the names of all namespaces."""
        return [self.namespace(number) for number in range(self.namespaces)]

    def node(self, number: int) -> str:
        """Return the name of the node of a numbered pod: they take turns."""
        return f"{self.prefix}-{number % self.nodes:05d}"

    def deployment(self, number: int) -> str:
        """Return the name of a numbered Deployment, also the app of its pods."""
        return f"{self.prefix}-{number:05d}"

    def owner(self, pod: int) -> int:
        """Return the number of a pod's Deployment: they take turns; 0 without Deployments."""
        return pod % self.deployments if self.deployments else 0

    def replicas(self, deployment: int) -> int:
        """Return the number of pods of a Deployment, which add up to all pods."""
        share, rest = divmod(self.pods, max(1, self.deployments))
        return share + (deployment < rest)

    def first_renewal_s(self, node: int) -> float:
        """Return the delay of a node's first renewal: they are spread over the interval."""
        return LEASE_S * node / self.nodes

    def due(self, elapsed_s: float) -> int:
        """Return how many pods must have been replaced by then."""
        return int(elapsed_s * self.churn)
