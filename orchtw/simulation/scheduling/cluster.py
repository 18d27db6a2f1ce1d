"""The scheduler's picture of the cluster: nodes and the pods on them (reference SIM-61).

It is changed by events, and by the scheduler's own decisions before they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Generic, TypeVar

from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.tallies import Tallies, Tally, TermUsers, shift
from orchtw.simulation.scheduling.terms import NO_LABELS, Labels, PodTerm, Spread
from orchtw.wire.objects import Object

T = TypeVar("T")


class TermIndex(Generic[T]):
    """Terms of running pods, by their kind."""

    def __init__(self, labels_of: Callable[[str], Labels]) -> None:
        self.apart = TermUsers(labels_of)
        """Required anti-affinity: `PodTerm`."""
        self.wishes = TermUsers(labels_of)
        """Preferences and required affinity: `(weight, PodTerm)`, a negative weight to be apart."""

    def count(self, pod: PodInfo, number: int) -> None:
        """Take in a pod that has come (1) or gone (-1)."""
        found = pod.affinity
        if found is None:
            return
        for term in found.apart:
            self.apart.add(term, pod.node, number)
        for term in found.near:
            self.wishes.add((1, term), pod.node, number)
        for weight, term in found.prefers_near:
            self.wishes.add((weight, term), pod.node, number)
        for weight, term in found.prefers_apart:
            self.wishes.add((-weight, term), pod.node, number)


class Cluster:
    """Nodes and pods. `namespace_labels` gives the labels of a namespace; `zone` is the label of zones."""

    def __init__(self, namespace_labels: Callable[[str], Labels], zone: str) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.namespace_labels = namespace_labels
        self.zone = zone
        self._pods: dict[str, PodInfo] = {}
        self._by_namespace: dict[str, dict[str, PodInfo]] = {}
        self._tallies = Tallies(self.labels_of)
        self.terms: TermIndex[PodTerm] = TermIndex(self.labels_of)
        self._in_zones: Counter[tuple[str, str]] = Counter()
        """Numbers of pods by zone and controller."""
        self._claims: Counter[str] = Counter()
        self._priorities: Counter[int] = Counter()
        self._domains: dict[str, Counter[str]] = {}
        self._order: list[NodeInfo] | None = None

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Reserve room on a node for a pod, or with an empty name no longer."""
        if pod.nominated and (before := self.nodes.get(pod.nominated)) is not None:
            before.nominated.pop(pod.key, None)
        pod.nominated = node
        if node and (found := self.nodes.get(node)) is not None:
            found.nominated[pod.key] = pod

    def labels_of(self, node: str) -> Labels:
        """Return the labels of a node that is there, none of one that is not."""
        found = self.nodes.get(node)
        return found.labels if found is not None and found.present else NO_LABELS

    @property
    def order(self) -> Sequence[NodeInfo]:
        """Return the nodes that are there, those of zones by turns."""
        if self._order is None:
            zones: dict[str, list[NodeInfo]] = {}
            for node in self.nodes.values():
                if node.present:
                    zones.setdefault(node.zone, []).append(node)
            rows = zip_longest(*zones.values())
            self._order = [node for row in rows for node in row if node is not None]
        return self._order

    def pod(self, key: str) -> PodInfo | None:
        """Return a pod that is on a node, or about to be."""
        return self._pods.get(key)

    def has_lower(self, priority: int) -> bool:
        """Report whether any pod is less important than this priority."""
        return any(each < priority for each in self._priorities)

    def users_of_claim(self, key: str) -> int:
        """Return the number of pods that use a claim (`namespace/name`)."""
        return self._claims.get(key, 0)

    def put_node(self, node: Object) -> bool:
        """Take in a node, new or changed; report whether pods may now fit that did not."""
        name = node["metadata"]["name"]
        found = self.nodes.get(name)
        if found is None:
            found = self.nodes[name] = NodeInfo(name)
        before, was_present = found.facts, found.present
        found.update(node)
        found.zone = found.labels.get(self.zone, "")
        if was_present and found.facts == before:
            return False
        if not was_present or found.labels != before[0]:
            self._relabel(found, before[0])
        return True

    def drop_node(self, name: str) -> None:
        """Forget a node; its pods are there until they are deleted."""
        found = self.nodes.get(name)
        if found is not None and found.present:
            before, found.present, found.labels, found.zone = found.labels, False, NO_LABELS, ""
            self._relabel(found, before)
            if not found.pods:
                del self.nodes[name]

    def _relabel(self, node: NodeInfo, before: Labels) -> None:
        """Count the node's pods in its new zone, and forget what was counted by topology."""
        for controller, number in node.controllers.items():
            shift(self._in_zones, (before.get(self.zone, ""), controller), -number)
            shift(self._in_zones, (node.zone, controller), number)
        self._order = None
        self._domains.clear()
        if node.pods or before:
            self._tallies.relabelled()
            self.terms.apart.relabelled()
            self.terms.wishes.relabelled()

    def domain(self, key: str) -> Counter[str]:
        """Return the numbers of nodes by the value of a label."""
        found = self._domains.get(key)
        if found is None:
            values = (node.labels.get(key) for node in self.order)
            found = self._domains[key] = Counter(value for value in values if value is not None)
        return found

    def add(self, pod: PodInfo) -> None:
        """Count a pod on its node."""
        node = self.nodes.get(pod.node)
        if node is None:
            node = self.nodes[pod.node] = NodeInfo(pod.node)
        node.add(pod)
        self._pods[pod.key] = pod
        self._by_namespace.setdefault(pod.namespace, {})[pod.key] = pod
        self._count(pod, node, 1)

    def remove(self, pod: PodInfo) -> None:
        """Count a pod no longer."""
        node = self.nodes[pod.node]
        node.remove(pod)
        del self._pods[pod.key]
        pods = self._by_namespace[pod.namespace]
        del pods[pod.key]
        if not pods:
            del self._by_namespace[pod.namespace]
        self._count(pod, node, -1)
        if not node.present and not node.pods:
            del self.nodes[node.name]

    def _count(self, pod: PodInfo, node: NodeInfo, number: int) -> None:
        if pod.controller:
            shift(self._in_zones, (node.zone, pod.controller), number)
        for name, _ in pod.claims:
            shift(self._claims, f"{pod.namespace}/{name}", number)
        shift(self._priorities, pod.priority, number)
        self._tallies.count(pod, number)
        self.terms.count(pod, number)

    def in_zone(self, zone: str, controller: str) -> int:
        """Return the number of a controller's pods in a zone."""
        return self._in_zones.get((zone, controller), 0)

    def near(self, terms: tuple[PodTerm, ...]) -> Tally:
        """Return the numbers of pods that match all of these terms."""
        labels_of = self.namespace_labels

        def matches(pod: PodInfo) -> bool:
            return all(term.matches(pod.namespace, pod.labels, labels_of) for term in terms)

        return self._tallies.of(terms, matches, lambda: self._pods_of(terms[0]))

    def spread(self, namespace: str, spread: Spread) -> Tally:
        """Return the numbers of pods that a spread constraint of that namespace counts."""
        selector = spread.selector

        def matches(pod: PodInfo) -> bool:
            return pod.namespace == namespace and not pod.terminating and selector.matches(pod.labels)

        pods = self._by_namespace.get(namespace, {})
        return self._tallies.of((namespace, selector), matches, lambda: list(pods.values()))

    def _pods_of(self, term: PodTerm) -> Iterator[PodInfo]:
        names = self._by_namespace if term.namespace_selector is not None else term.namespaces
        for name in names:
            yield from self._by_namespace.get(name, {}).values()

    def namespaces_changed(self) -> None:
        """Count anew, after labels of namespaces have changed."""
        self._tallies.clear()
