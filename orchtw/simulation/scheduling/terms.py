"""Terms that select nodes and pods, compiled from the objects of a pod's spec (reference SIM-61)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from orchtw.rules.selectors import LabelSelector, Requirement, selector_of_object
from orchtw.wire.objects import Object

Labels = Mapping[str, str]
NO_LABELS: Final[Labels] = {}

_OPERATORS: Final = {
    "In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"
}  # fmt: skip


@attrs.frozen(slots=True)
class NodeTerm:
    """One alternative of a node selector: requirements on labels and on the name. An empty one matches nothing."""

    labels: tuple[Requirement, ...]
    names: tuple[Requirement, ...]

    @classmethod
    def of(cls, term: Object) -> NodeTerm:
        """Compile a NodeSelectorTerm of a spec."""
        return cls(_requirements(term.get("matchExpressions")), _requirements(term.get("matchFields")))

    def matches(self, name: str, labels: Labels) -> bool:
        """Report whether a node matches."""
        if not self.labels and not self.names:
            return False
        named = {"metadata.name": name}
        return all(each.matches(labels) for each in self.labels) and all(each.matches(named) for each in self.names)


def _requirements(entries: Sequence[Object] | None) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(each["key"], _OPERATORS[each["operator"]], tuple(each.get("values") or ()))
        for each in entries or ()
    )


@attrs.frozen(slots=True)
class NodeChoice:
    """Demands of a pod on its node: pairs of labels, and the alternatives of its required affinity (None: any)."""

    pairs: tuple[tuple[str, str], ...]
    terms: tuple[NodeTerm, ...] | None

    @classmethod
    def of(cls, spec: Object) -> NodeChoice | None:
        """Compile the demands of a pod's spec; None: any node will do."""
        pairs = tuple((spec.get("nodeSelector") or {}).items())
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        if not pairs and required is None:
            return None
        terms = None if required is None else tuple(map(NodeTerm.of, required.get("nodeSelectorTerms") or ()))
        return cls(pairs, terms)

    def matches(self, name: str, labels: Labels) -> bool:
        """Report whether a node will do."""
        for key, value in self.pairs:
            if labels.get(key) != value:
                return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)


@attrs.frozen(slots=True, cache_hash=True)
class PodTerm:
    """Term of pod affinity: pods that a selector finds in some namespaces, and the label that says what is near."""

    topology: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None

    @classmethod
    def of(cls, term: Object, namespace: str) -> PodTerm:
        """Compile a PodAffinityTerm of a pod in that namespace. Raises BadRequest for an invalid selector."""
        names, chosen = term.get("namespaces"), term.get("namespaceSelector")
        return cls(
            term["topologyKey"],
            selector_of_object(term.get("labelSelector")),
            frozenset(names or (() if chosen is not None else (namespace,))),
            None if chosen is None else selector_of_object(chosen),
        )

    def matches(self, namespace: str, labels: Labels, labels_of: Callable[[str], Labels]) -> bool:
        """Report whether a pod of these labels is meant; `labels_of` gives the labels of a namespace."""
        if namespace not in self.namespaces:
            if self.namespace_selector is None or not self.namespace_selector.matches(labels_of(namespace)):
                return False
        return self.selector.matches(labels)


@attrs.frozen(slots=True)
class Spread:
    """A topology spread constraint of a pod."""

    topology: str
    max_skew: int
    hard: bool
    selector: LabelSelector
    min_domains: int
    honors_choice: bool
    honors_taints: bool

    @classmethod
    def of(cls, constraint: Object, labels: Labels) -> Spread:
        """Compile a constraint of a pod with these labels. Raises BadRequest for an invalid selector."""
        selector = selector_of_object(constraint.get("labelSelector"))
        more = [
            Requirement(key, "in", (labels[key],))
            for key in constraint.get("matchLabelKeys") or ()
            if key in labels
        ]
        if more and not selector.nothing:
            selector = LabelSelector((*selector.requirements, *more))
        return cls(
            constraint["topologyKey"],
            constraint["maxSkew"],
            constraint["whenUnsatisfiable"] == "DoNotSchedule",
            selector,
            constraint.get("minDomains") or 1,
            constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
            constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


def weighted(entries: Sequence[Any] | None, name: str) -> list[tuple[int, Object]]:
    """Return weights and terms of preferred affinities; `name` is that of the term's field."""
    return [(each["weight"], each.get(name) or {}) for each in entries or ()]
