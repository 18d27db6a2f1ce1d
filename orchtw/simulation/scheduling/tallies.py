"""Numbers of pods that match a selector, by node and by topology, kept up to date pod by pod (reference SIM-62)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, TypeVar

from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.terms import Labels

MOST_TALLIES: Final = 512
"""Selectors that are counted at a time: a cluster of some hundred workloads with affinities uses as many."""

Key = TypeVar("Key", bound=Hashable)
LabelsOf = Callable[[str], Labels]


class Tally:
    """Number of pods by node, and by the value of topology labels that somebody has asked for."""

    __slots__ = ("_domains", "_labels_of", "by_node")

    def __init__(self, labels_of: LabelsOf) -> None:
        self._labels_of = labels_of
        self.by_node: dict[str, int] = {}
        self._domains: dict[str, dict[str, int]] = {}

    def add(self, node: str, number: int) -> None:
        """Count pods of a node, or with a negative number no longer."""
        shift(self.by_node, node, number)
        if self._domains:
            labels = self._labels_of(node)
            for key, counts in self._domains.items():
                if (value := labels.get(key)) is not None:
                    shift(counts, value, number)

    def domain(self, key: str) -> Mapping[str, int]:
        """Return the numbers by the value of a label of nodes; values without pods are left out."""
        found = self._domains.get(key)
        if found is None:
            found = self._domains[key] = {}
            for node, number in self.by_node.items():
                if (value := self._labels_of(node).get(key)) is not None:
                    shift(found, value, number)
        return found

    def relabelled(self) -> None:
        """Count anew by topology, after labels of nodes have changed."""
        self._domains.clear()


def shift(counts: dict[Key, int], key: Key, number: int) -> None:
    """Add a number to a count; a count of 0 is dropped."""
    left = counts.get(key, 0) + number
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)


class Tallies:
    """Tallies by what they count; the ones that were used last are kept."""

    def __init__(self, labels_of: LabelsOf, limit: int = MOST_TALLIES) -> None:
        self._labels_of = labels_of
        self._limit = limit
        self._tallies: OrderedDict[Hashable, tuple[Callable[[PodInfo], bool], Tally]] = OrderedDict()

    def of(
        self, key: Hashable, matches: Callable[[PodInfo], bool], pods: Callable[[], Iterable[PodInfo]]
    ) -> Tally:
        """Return the tally of that key; a new one counts those of the present `pods` that match."""
        found = self._tallies.get(key)
        if found is not None:
            self._tallies.move_to_end(key)
            return found[1]
        tally = Tally(self._labels_of)
        for pod in pods():
            if matches(pod):
                tally.add(pod.node, 1)
        self._tallies[key] = matches, tally
        if len(self._tallies) > self._limit:
            self._tallies.popitem(last=False)
        return tally

    def count(self, pod: PodInfo, number: int) -> None:
        """Take in a pod that has come (1) or gone (-1)."""
        for matches, tally in self._tallies.values():
            if matches(pod):
                tally.add(pod.node, number)

    def relabelled(self) -> None:
        """Count anew by topology, after labels of nodes have changed."""
        for _, tally in self._tallies.values():
            tally.relabelled()

    def clear(self) -> None:
        """Forget all tallies, after labels of namespaces have changed."""
        self._tallies.clear()


class TermUsers:
    """Terms of the pods that run, with the numbers of their pods: what they ask of pods that come."""

    def __init__(self, labels_of: LabelsOf) -> None:
        self._labels_of = labels_of
        self._terms: dict[Hashable, Tally] = {}

    def add(self, term: Hashable, node: str, number: int) -> None:
        """Count a pod that has the term, or with -1 no longer."""
        tally = self._terms.get(term)
        if tally is None:
            tally = self._terms[term] = Tally(self._labels_of)
        tally.add(node, number)
        if not tally.by_node:
            del self._terms[term]

    def items(self) -> Iterable[tuple[Hashable, Tally]]:
        """Return all terms with their tallies."""
        return self._terms.items()

    def __len__(self) -> int:
        return len(self._terms)

    def relabelled(self) -> None:
        """Count anew by topology, after labels of nodes have changed."""
        for tally in self._terms.values():
            tally.relabelled()
