"""Status of a simulated node, as its agent reports it (reference SIM-10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.naming.naming import Naming
from orchtw.simulation.nodes.machines import CAPACITY, Machine
from orchtw.simulation.nodes.marks import capacity, is_held_unready, pressures
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

STATUS_PERIOD_S: Final = 300.0
"""Longest time between two reports of an unchanged status."""

_PRESSURES: Final[Mapping[str, tuple[str, tuple[str, str], tuple[str, str]]]] = {
    "MemoryPressure": (
        "memory",
        ("HasSufficientMemory", "has sufficient memory available"),
        ("HasInsufficientMemory", "has insufficient memory available"),
    ),
    "DiskPressure": (
        "disk",
        ("HasNoDiskPressure", "has no disk pressure"),
        ("HasDiskPressure", "has disk pressure"),
    ),
    "PIDPressure": (
        "pid",
        ("HasSufficientPID", "has sufficient PID available"),
        ("HasInsufficientPID", "has insufficient PID available"),
    ),
}
"""Conditions: what the annotation calls them; the end of the reason and of the message without, and with pressure."""


class Reporter:
    """Builder of node statuses. `agent_port` is the port of the simulated node agent, 0 without an agent."""

    def __init__(self, naming: Naming, agent_port: int) -> None:
        self._naming = naming
        self._agent_port = agent_port
        self._agent = naming.node_agent
        self._endpoint = naming.translate("orchletEndpoint")

    def status(self, node: Object, now: float) -> Object:
        """Return the status that the node's agent reports; what others have put into it stays."""
        old, machine = node.get("status") or {}, Machine.of(node["metadata"]["name"])
        amounts = {**CAPACITY, **(old.get("capacity") or {}), **capacity(node)}
        made = {
            **old,
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": self._conditions(node, old.get("conditions") or (), now),
            "addresses": [
                {"type": "InternalIP", "address": machine.address},
                {"type": "Hostname", "address": machine.name},
            ],
            "nodeInfo": machine.facts(self._naming),
        }
        if self._agent_port:
            made["daemonEndpoints"] = {self._endpoint: {"Port": self._agent_port}}
        return made

    def _conditions(self, node: Object, old: Any, now: float) -> list[Object]:
        short_of = pressures(node)
        wanted = []
        for kind, (name, fine, bad) in _PRESSURES.items():
            reason, message = bad if name in short_of else fine
            wanted.append((kind, "True" if name in short_of else "False", reason, message))
        wanted.append(_readiness(node))
        before = {each["type"]: each for each in old}
        made = [self._condition(*each, before.pop(each[0], None), rfc3339(int(now))) for each in wanted]
        return [*before.values(), *made]

    def _condition(
        self, kind: str, status: str, reason: str, message: str, old: Object | None, now: str
    ) -> Object:
        kept = old is not None and old["status"] == status
        return {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": now,
            "lastTransitionTime": old["lastTransitionTime"] if old is not None and kept else now,
            "reason": self._agent.capitalize() + reason,
            "message": f"{self._agent} {message}",
        }


def _readiness(node: Object) -> tuple[str, str, str, str]:
    if is_held_unready(node):
        return "Ready", "False", "NotReady", "is held not ready by an annotation of the node"
    return "Ready", "True", "Ready", "is posting ready status"


def differs(old: Object, new: Object) -> bool:
    """Report whether a status says something new, beyond the time of the report."""
    return _lasting(old) != _lasting(new)


def _lasting(status: Object) -> Object:
    conditions = [
        {name: value for name, value in each.items() if name != "lastHeartbeatTime"}
        for each in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions}


def status_changes(old: Object, new: Object) -> Object:
    """Return the merge patch from one status to the other; amounts that are gone are named with None."""
    changes = {key: value for key, value in new.items() if value != old.get(key)}
    for key in ("capacity", "allocatable"):
        if key in changes:
            changes[key] = {**dict.fromkeys(old.get(key) or {}), **new[key]}
    return changes


def last_report(node: Object) -> str:
    """Return the time of the latest report of readiness, empty if there was none."""
    for each in (node.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready":
            return str(each.get("lastHeartbeatTime") or "")
    return ""
