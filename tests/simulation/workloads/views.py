"""Views of pods as tests of computations need them."""

from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.pods import PodView

_PLAIN = {
    "namespace": "a", "uid": "", "version": "1", "created": "2026-01-01T00:00:00Z", "labels": {}, "owner": "o",
    "owner_kind": "ReplicaSet", "owner_name": "web", "node": "n", "phase": "Running", "terminating": False,
    "ready_since": 0.0, "restarts": 0, "all_restarts": 0, "deletion_cost": 0,
}  # fmt: skip


def view(name: str, **fields: Any) -> PodView:
    """A running, ready pod, but for the given fields."""
    node = fields.get("node", "n")
    return PodView(**{**_PLAIN, "key": f"a/{name}", "name": name, "uid": name, "target": node, **fields})
