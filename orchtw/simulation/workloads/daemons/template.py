"""Pods of a DaemonSet: the template with the tolerations that all daemons have, and an affinity to one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.older import TEMPLATE_GENERATION
from orchtw.simulation.workloads.hashes import REVISION_HASH
from orchtw.simulation.workloads.pod_template import pod_maker
from orchtw.simulation.workloads.pods import PodView
from orchtw.wire.objects import Object

GENERATION_LABEL: Final = "pod-template-generation"

_STAYS: Final = ("node.orch.io/not-ready", "node.orch.io/unreachable")
_COMES: Final = (
    "node.orch.io/disk-pressure",
    "node.orch.io/memory-pressure",
    "node.orch.io/pid-pressure",
    "node.orch.io/unschedulable",
)
_ON_HOST_NETWORK: Final = "node.orch.io/network-unavailable"


def tolerations(spec: Object, naming: Naming) -> list[Object]:
    """Return the tolerations of a pod's spec, with those that every daemon has."""
    comes = (*_COMES, _ON_HOST_NETWORK) if spec.get("hostNetwork") else _COMES
    wanted = [(key, "NoExecute") for key in _STAYS] + [(key, "NoSchedule") for key in comes]
    added = [
        {"key": naming.translate(key), "operator": "Exists", "effect": effect}
        for key, effect in wanted
    ]  # fmt: skip
    kept = [each for each in spec.get("tolerations") or () if each not in added]
    return [*kept, *added]


def generation_of(owner: Object) -> str:
    """Return the number of templates that a DaemonSet has had."""
    found: str = (owner["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return found


def is_updated(owner: Object, pod: PodView, digest: str) -> bool:
    """Report whether a pod is of the present template, whose revision has that hash."""
    if pod.labels.get(REVISION_HASH) == digest:
        return True
    generation = generation_of(owner)
    return bool(generation) and pod.labels.get(GENERATION_LABEL) == generation


def daemon_maker(owner: Object, reference: Object, digest: str, naming: Naming) -> Callable[[str], Object]:
    """Return a function that makes the pod for the node of that name."""
    template = owner["spec"]["template"]
    meta, spec = template.get("metadata") or {}, template["spec"]
    labels = {**(meta.get("labels") or {}), REVISION_HASH: digest}
    if generation := generation_of(owner):
        labels[GENERATION_LABEL] = generation
    whole = {**template, "metadata": {**meta, "labels": labels}}
    make = pod_maker({**whole, "spec": {**spec, "tolerations": tolerations(spec, naming)}}, owner, reference)

    def pod(node: str) -> Object:
        made = make()
        made["spec"]["affinity"] = _bound(made["spec"].get("affinity") or {}, node)
        return made

    return pod


def _bound(affinity: Object, node: str) -> Object:
    """Return an affinity that demands one node, in the place of other demands: it fulfils these."""
    field: Sequence[Object] = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    required = {"nodeSelectorTerms": [{"matchFields": field}]}
    nodes = {
        **(affinity.get("nodeAffinity") or {}), "requiredDuringSchedulingIgnoredDuringExecution": required
    }  # fmt: skip
    return {**affinity, "nodeAffinity": nodes}
