"""Status of DaemonSets: counts of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orchtw.responses.slices import Steps
from orchtw.simulation.workloads.daemons.eligibility import Eligibility
from orchtw.simulation.workloads.daemons.node_views import NodeView
from orchtw.simulation.workloads.daemons.template import is_updated
from orchtw.simulation.workloads.pods import PodView
from orchtw.wire.objects import Object


def daemon_status(
    owner: Object,
    nodes: Iterable[NodeView],
    by_node: Mapping[str, Sequence[PodView]],
    eligibility: Eligibility,
    digest: str,
    now: float,
) -> Steps[Object]:
    """Return, in steps, the counts of nodes; of several pods on a node the oldest counts."""
    min_ready_s = owner["spec"].get("minReadySeconds") or 0
    desired = current = wrong = ready = available = updated = 0
    for node in nodes:
        pods = by_node.get(node.name)
        if not eligibility.verdict(node)[0]:
            wrong += bool(pods)
        else:
            desired += 1
            if pods:
                pod = min(pods, key=lambda each: (each.created, each.name))
                current += 1
                ready += pod.ready
                available += pod.available(min_ready_s, now)
                updated += is_updated(owner, pod, digest)
        yield
    status: Object = {
        "currentNumberScheduled": current,
        "numberMisscheduled": wrong,
        "desiredNumberScheduled": desired,
        "numberReady": ready,
        "observedGeneration": owner["metadata"].get("generation", 0),
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
        "numberUnavailable": desired - available,
    }
    old = owner.get("status") or {}
    return {**status, **{key: old[key] for key in ("collisionCount", "conditions") if old.get(key) is not None}}
