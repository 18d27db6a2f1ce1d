"""Signs of life of nodes: renewed Leases and reports of readiness (reference SIM-11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object


class NodeHealth:
    """Times at which something was heard of nodes, in simulated seconds.

    `beats` are those of the nodes that this process runs itself.
    """

    def __init__(self, beats: Mapping[str, float]) -> None:
        self._beats = beats
        self._seen: dict[str, float] = {}
        self._reports: dict[str, str] = {}
        self._unknown: set[str] = set()
        """Nodes whose silence has been noted in their conditions."""

    def heard(self, node: str, now_s: float) -> None:
        """Note a renewed Lease."""
        if node in self._seen:
            self._seen[node] = now_s

    def reported(self, node: Object, now_s: float) -> None:
        """Take in a node, new or changed: a new report is a sign of life."""
        name = node["metadata"]["name"]
        ready = next((each for each in _conditions(node) if each["type"] == "Ready"), {})
        report = _report(ready)
        (self._unknown.add if ready.get("status") == "Unknown" else self._unknown.discard)(name)
        if self._reports.get(name) != report:
            self._reports[name] = report
            self._seen[name] = now_s

    def forget(self, node: str) -> None:
        """Forget a node that has been deleted."""
        self._seen.pop(node, None)
        self._reports.pop(node, None)
        self._unknown.discard(node)

    def pardon(self, now_s: float) -> None:
        """Count the silence of all nodes from now on."""
        self._seen = dict.fromkeys(self._seen, now_s)

    def silent_s(self, node: str, now_s: float) -> float:
        """Return the seconds since the last sign of life."""
        return now_s - max(self._seen.get(node, now_s), self._beats.get(node, 0.0))

    def silent(self, now_s: float, limit_s: float) -> Iterator[str]:
        """Return the nodes of which nothing was heard for that long, except for those that are Unknown already."""
        beats, end, noted = self._beats, now_s - limit_s, self._unknown
        silent = (name for name, seen in self._seen.items() if seen <= end and beats.get(name, 0.0) <= end)
        return (name for name in silent if name not in noted)


def _conditions(node: Object) -> list[Object]:
    return (node.get("status") or {}).get("conditions") or []


def _report(condition: Object) -> str:
    """Return the time of a report; the controller's own change of the status keeps it."""
    return str(condition.get("lastHeartbeatTime") or "")


def unknown_conditions(node: Object, naming: Naming, now: str) -> list[Object] | None:
    """Return the conditions of a node that has fallen silent, or None if it has them already."""
    agent = naming.node_agent.capitalize()
    before = {each["type"]: each for each in _conditions(node)}
    made = dict(before)
    for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"):
        old = before.get(kind)
        if old is None:
            made[kind] = {
                "type": kind,
                "status": "Unknown",
                "reason": "NodeStatusNeverUpdated",
                "message": f"{agent} never posted node status.",
                "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
                "lastTransitionTime": now,
            }
        elif old["status"] != "Unknown":
            changed = {"status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
            made[kind] = {**old, **changed, "message": f"{agent} stopped posting node status."}
    return None if made == before else list(made.values())
