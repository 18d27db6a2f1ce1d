"""Reasons why a pod does not fit a node, in the release's words, and the message made of them (reference SIM-63)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import attrs

NODE_RESOURCES = "NodeResourcesFit"
NODE_PORTS = "NodePorts"
NODE_AFFINITY = "NodeAffinity"
NODE_UNSCHEDULABLE = "NodeUnschedulable"
TAINTS = "TaintToleration"
VOLUME_RESTRICTIONS = "VolumeRestrictions"
VOLUME_BINDING = "VolumeBinding"
VOLUME_ZONE = "VolumeZone"
TOPOLOGY_SPREAD = "PodTopologySpread"
POD_AFFINITY = "InterPodAffinity"

NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NO_NODES: Final = "no nodes available to schedule pods"


@attrs.frozen(slots=True)
class Refusal:
    """Refusal of a node for a pod: the plugin and its reasons. `lasting`: preemption cannot help."""

    plugin: str
    reasons: tuple[str, ...]
    lasting: bool = False


def summary(nodes: int, reasons: Iterable[tuple[str, int]], preemption: str = "") -> str:
    """Return the message about a pod that fits none of the nodes: reasons with the number of their nodes."""
    counted: Counter[str] = Counter()
    for reason, number in reasons:
        counted[reason] += number
    parts = ", ".join(sorted(f"{number} {reason}" for reason, number in counted.items()))
    return f"0/{nodes} nodes are available: {parts}." + (f" preemption: {preemption}" if preemption else "")
