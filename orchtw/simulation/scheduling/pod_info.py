"""Facts about a pod that scheduling needs, read once from the object (reference SIM-61)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from orchtw.quota.amounts import Amounts
from orchtw.quota.pods import pod_requests
from orchtw.simulation.scheduling.terms import NO_LABELS, Labels, NodeChoice, NodeTerm, PodTerm, Spread, weighted
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

Resources = Mapping[str, int]
"""Amounts by name: thousandths of `cpu`, whole numbers of anything else."""

Port = tuple[str, str, int]
"""Protocol, address and number of a port on the node."""

_NANOS: Final = 10**9
_MILLIS: Final = 10**6
_ANY: Final = "0.0.0.0"  # noqa: S104 - an address in an object, which nothing listens on
_LEAST_CPU: Final = 100
_LEAST_MEMORY: Final = 200 << 20
"""Amounts that scores assume for pods that ask for nothing."""
_ENDED: Final = ("Succeeded", "Failed")


Shape = tuple[int, int, tuple[tuple[str, int], ...]]
"""All that a pod takes of a node: CPU and memory as scores see them, and its requests without those of nothing."""


@lru_cache(maxsize=1024)
def _shared(shape: Shape) -> Shape:
    """Return the one tuple for equal shapes: pods of one workload are compared by identity."""
    return shape


def whole(found: Amounts) -> dict[str, int]:
    """Round amounts up to the units that scheduling counts in."""
    return {name: -(-each.nanos // (_MILLIS if name == "cpu" else _NANOS)) for name, each in found.items()}


class PodTerms:
    """Affinities of a pod to others: required and preferred, to be near and to be apart."""

    __slots__ = ("apart", "near", "prefers_apart", "prefers_near")

    def __init__(self, affinity: Object, namespace: str) -> None:
        self.near, self.prefers_near = _pod_terms(affinity.get("podAffinity"), namespace)
        self.apart, self.prefers_apart = _pod_terms(affinity.get("podAntiAffinity"), namespace)


def _pod_terms(
    found: Object | None, namespace: str
) -> tuple[tuple[PodTerm, ...], tuple[tuple[int, PodTerm], ...]]:
    required = (found or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    preferred = (found or {}).get("preferredDuringSchedulingIgnoredDuringExecution")
    return (
        tuple(PodTerm.of(each, namespace) for each in required),
        tuple((weight, PodTerm.of(each, namespace)) for weight, each in weighted(preferred, "podAffinityTerm")),
    )


class PodInfo:
    """A pod as the scheduler sees it. Raises BadRequest where the object has an invalid selector."""

    __slots__ = (
        "affinity", "choice", "claims", "controller", "key", "labels", "name", "namespace", "node", "nominated",
        "ports", "preempts", "preferred_nodes", "priority", "requests", "score_cpu", "score_memory", "shape",
        "spreads", "started", "terminating", "tolerations", "uid",
    )  # fmt: skip

    def __init__(self, pod: Object) -> None:
        meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
        self.name: str = meta["name"]
        self.namespace: str = meta["namespace"]
        self.key = f"{self.namespace}/{self.name}"
        self.uid: str = meta["uid"]
        self.labels: Labels = meta.get("labels") or NO_LABELS
        owners = meta.get("ownerReferences") or ()
        self.controller: str = next((each["uid"] for each in owners if each.get("controller")), "")
        self.terminating = bool(meta.get("deletionTimestamp"))
        self.node: str = spec.get("nodeName") or ""
        self.nominated: str = status.get("nominatedNodeName") or ""
        self.priority: int = spec.get("priority") or 0
        self.preempts = spec.get("preemptionPolicy") != "Never"
        self.started = parse_time(status.get("startTime") or meta["creationTimestamp"])[0]
        self.tolerations: Sequence[Object] = spec.get("tolerations") or ()
        self.requests: Resources = whole(pod_requests(spec))
        self.score_cpu = self.requests.get("cpu") or _LEAST_CPU
        self.score_memory = self.requests.get("memory") or _LEAST_MEMORY
        asked = tuple((name, amount) for name, amount in self.requests.items() if amount)
        self.shape: Shape = _shared((self.score_cpu, self.score_memory, asked))
        self.ports = host_ports(spec)
        self.claims = _claims(self.name, spec)
        self.choice = NodeChoice.of(spec)
        affinity = spec.get("affinity") or {}
        self.preferred_nodes = _preferred_nodes(affinity.get("nodeAffinity"))
        has_terms = affinity.get("podAffinity") or affinity.get("podAntiAffinity")
        self.affinity = PodTerms(affinity, self.namespace) if has_terms else None
        self.spreads = tuple(
            Spread.of(each, self.labels) for each in spec.get("topologySpreadConstraints") or ()
        )


def _preferred_nodes(found: Object | None) -> tuple[tuple[int, NodeTerm], ...]:
    preferred = (found or {}).get("preferredDuringSchedulingIgnoredDuringExecution")
    return tuple((weight, NodeTerm.of(term)) for weight, term in weighted(preferred, "preference"))


def host_ports(spec: Object) -> tuple[Port, ...]:
    """Return the ports of the node that containers take, with those of sidecars."""
    sidecars = (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")
    return tuple(
        (port.get("protocol") or "TCP", port.get("hostIP") or _ANY, port["hostPort"])
        for container in (*(spec.get("containers") or ()), *sidecars)
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def _claims(name: str, spec: Object) -> tuple[tuple[str, bool], ...]:
    """Return the names of a pod's claims, and whether they are made for the pod alone."""
    found = []
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            found.append((claim["claimName"], False))
        elif volume.get("ephemeral"):
            found.append((f"{name}-{volume['name']}", True))
    return tuple(found)


def ports_conflict(port: Port, taken: Port) -> bool:
    """Report whether a port of a node cannot be had beside another."""
    return port[0] == taken[0] and port[2] == taken[2] and (port[1] == taken[1] or _ANY in (port[1], taken[1]))


def is_over(pod: Object) -> bool:
    """Report whether a pod has ended, and takes nothing of its node any more."""
    return (pod.get("status") or {}).get("phase") in _ENDED
