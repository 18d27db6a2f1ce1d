"""Nodes on which the pods of a DaemonSet are to run, and those on which they may stay."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.simulation.nodes.evictions import tolerates
from orchtw.simulation.scheduling.terms import NodeChoice
from orchtw.simulation.workloads.daemons.node_views import NodeView
from orchtw.simulation.workloads.daemons.template import tolerations
from orchtw.wire.objects import Object

REMEMBERED: Final = 200
"""DaemonSets whose verdicts are kept."""

Verdict = tuple[bool, bool]
"""Verdict on a node: a pod is to run there, and a pod that runs there may stay."""


class Eligibility:
    """Verdicts of one template on nodes, each found once for one state of the node."""

    def __init__(self, template: Object, naming: Naming) -> None:
        spec = template["spec"]
        self._node_name = spec.get("nodeName") or ""
        self._choice = NodeChoice.of(spec)
        self._tolerations = tolerations(spec, naming)
        self._known: dict[str, tuple[NodeView, Verdict]] = {}

    def verdict(self, node: NodeView) -> Verdict:
        """Return whether a pod is to run on a node, and whether one may stay."""
        known = self._known.get(node.name)
        if known is not None and known[0] is node:
            return known[1]
        found = self._judge(node)
        self._known[node.name] = node, found
        return found

    def forget(self, name: str) -> None:
        """Forget the verdict on a node."""
        self._known.pop(name, None)

    def _judge(self, node: NodeView) -> Verdict:
        if self._node_name not in ("", node.name):
            return False, False
        if self._choice is not None and not self._choice.matches(node.name, node.labels):
            return False, False
        effects = {
            taint["effect"]
            for taint in node.taints
            if not any(tolerates(each, taint) for each in self._tolerations)
        }
        return not effects & {"NoSchedule", "NoExecute"}, "NoExecute" not in effects


class Eligibilities:
    """Verdicts by DaemonSet, for its present template."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._known: OrderedDict[str, tuple[int, Eligibility]] = OrderedDict()

    def of(self, owner: Object) -> Eligibility:
        """Return the verdicts of a DaemonSet's template."""
        uid, generation = owner["metadata"]["uid"], owner["metadata"].get("generation", 0)
        known = self._known.pop(uid, None)
        if known is None or known[0] != generation:
            known = generation, Eligibility(owner["spec"]["template"], self._naming)
        self._known[uid] = known
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known[1]

    def forget(self, node: str) -> None:
        """Forget a node that has gone."""
        for _, each in self._known.values():
            each.forget(node)
