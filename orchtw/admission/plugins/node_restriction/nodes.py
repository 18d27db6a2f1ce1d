"""Rules for writes of nodes to Nodes (reference PLUG-43)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.admission.attributes import Attributes
from orchtw.naming.naming import Naming
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_OWN_LABELS: Final = (
    *("orch.io/hostname", "orch.io/arch", "orch.io/os", "beta.orch.io/arch", "beta.orch.io/os"),
    *("beta.orch.io/instance-type", "node.orch.io/instance-type"),
    *("failure-domain.beta.orch.io/region", "failure-domain.beta.orch.io/zone"),
    *("topology.orch.io/region", "topology.orch.io/zone"),
)
_OWN_DOMAINS: Final = ("orchlet.orch.io", "node.orch.io")
_RESTRICTED: Final = "node-restriction.orch.io"


class NodeRules:
    """Rules for Nodes: a node may describe itself, but not set taints, owners or labels that steer workloads."""

    def __init__(self, naming: Naming) -> None:
        self._own = frozenset(map(naming.translate, _OWN_LABELS))
        self._own_domains = tuple(naming.translate(f"{each}/").removesuffix("/") for each in _OWN_DOMAINS)
        self._restricted = (naming.translate(f"{_RESTRICTED}/").removesuffix("/"),)
        self._reserved = tuple(dict.fromkeys((naming.label_domain, naming.api_domain)))

    def why_not(self, attributes: Attributes, node: str) -> str:
        """Return why a node may not make this write, or an empty string."""
        if attributes.name != node:
            return f"node {go_quote(node)} is not allowed to modify node {go_quote(attributes.name)}"
        if attributes.operation == "CREATE":
            return self._create(attributes.obj or {}, f"node {go_quote(node)}")
        if attributes.operation == "UPDATE":
            return self._update(attributes.obj or {}, attributes.old or {}, f"node {go_quote(node)}")
        return ""

    def _create(self, new: Object, who: str) -> str:
        if (new.get("spec") or {}).get("configSource") is not None:
            return f"{who} is not allowed to create pods with a non-nil configSource"
        if _meta(new, "ownerReferences"):
            return f"{who} is not allowed to modify ownerReferences"
        wrong = self._forbidden(_meta(new, "labels"))
        return f"{who} is not allowed to set the following labels: {', '.join(wrong)}" if wrong else ""

    def _update(self, new: Object, old: Object, who: str) -> str:
        spec, before = new.get("spec") or {}, old.get("spec") or {}
        source = spec.get("configSource")
        if source is not None and source != before.get("configSource"):
            return f"{who} is not allowed to update configSource to a new non-nil configSource"
        if (spec.get("taints") or []) != (before.get("taints") or []):
            return f"{who} is not allowed to modify taints"
        if (_meta(new, "ownerReferences") or []) != (_meta(old, "ownerReferences") or []):
            return f"{who} is not allowed to modify ownerReferences"
        labels, known = _meta(new, "labels") or {}, _meta(old, "labels") or {}
        if labels == known:
            return ""
        wrong = self._forbidden(key for key in {**known, **labels} if labels.get(key) != known.get(key))
        return f"is not allowed to modify labels: {', '.join(wrong)}" if wrong else ""

    def _forbidden(self, labels: Iterable[str] | None) -> list[str]:
        """Return the labels that a node may not set, in order."""
        return sorted(each for each in labels or () if not self._is_own(each))

    def _is_own(self, label: str) -> bool:
        domain, slash, _ = label.partition("/")
        if not slash:
            return True
        if _under(domain, self._restricted):
            return False
        return not _under(domain, self._reserved) or label in self._own or _under(domain, self._own_domains)


def _under(domain: str, tops: tuple[str, ...]) -> bool:
    return any(domain == top or domain.endswith(f".{top}") for top in tops)


def _meta(node: Object, key: str) -> Any:
    return (node.get("metadata") or {}).get(key)
