"""Taints that follow from a node's conditions and from its being cordoned (reference SIM-11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"

_BY_CONDITION: Final = (
    ("Ready", "False", "not-ready"),
    ("Ready", "Unknown", "unreachable"),
    ("MemoryPressure", "True", "memory-pressure"),
    ("DiskPressure", "True", "disk-pressure"),
    ("NetworkUnavailable", "True", "network-unavailable"),
    ("PIDPressure", "True", "pid-pressure"),
)
_UNSCHEDULABLE: Final = "unschedulable"
_EVICTING: Final = {"False": "not-ready", "Unknown": "unreachable"}


def readiness(node: Object) -> str:
    """Return the status of a node's condition Ready, empty if it has none."""
    for each in (node.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready":
            return str(each["status"])
    return ""


def no_execute(node: Object) -> list[Object]:
    """Return the taints that evict pods."""
    return [each for each in node["spec"].get("taints") or () if each["effect"] == NO_EXECUTE]


class NodeTaints:
    """Computes the taints of nodes."""

    def __init__(self, naming: Naming) -> None:
        names = {name for *_, name in _BY_CONDITION} | {_UNSCHEDULABLE}
        self._keys = {name: naming.translate(f"node.orch.io/{name}") for name in names}
        self._own = frozenset(
            [(key, NO_SCHEDULE) for key in self._keys.values()]
            + [(self._keys[name], NO_EXECUTE) for name in _EVICTING.values()]
        )

    def wanted(self, node: Object, now: str, *, evicts: bool | None) -> list[Object]:
        """Return the taints that the node should have; those of others stay, and come first.

        `evicts`: whether it gets the taint that evicts pods, if it is not ready; None: it keeps what it has.
        """
        present: Sequence[Object] = node["spec"].get("taints") or ()
        old = {(each["key"], each["effect"]): each for each in present}
        keys = [(self._keys[name], NO_SCHEDULE) for name in _reasons(node)]
        keys += self._evicting(node, old, evicts)
        others = [each for key, each in old.items() if key not in self._own]
        return others + [old.get(each) or {"key": each[0], "effect": each[1], "timeAdded": now} for each in keys]

    def lacks_eviction(self, node: Object) -> bool:
        """Report whether the node is not ready and does not have the taint that follows from it."""
        name = _EVICTING.get(readiness(node))
        return name is not None and not any(each["key"] == self._keys[name] for each in no_execute(node))

    def _evicting(
        self, node: Object, old: Iterable[tuple[str, str]], evicts: bool | None
    ) -> list[tuple[str, str]]:
        name = _EVICTING.get(readiness(node))
        if name is None or evicts is False:
            return []
        key = (self._keys[name], NO_EXECUTE)
        return [key] if evicts or key in old else []


def _reasons(node: Object) -> list[str]:
    conditions = {each["type"]: each["status"] for each in (node.get("status") or {}).get("conditions") or ()}
    found = [name for kind, status, name in _BY_CONDITION if conditions.get(kind) == status]
    if node["spec"].get("unschedulable"):
        found.append(_UNSCHEDULABLE)
    return found
