"""The priority classes of pods that are critical for the system (reference CTRL-8)."""

from __future__ import annotations

from orchtw.bootstrap.ensurer import Ensurer

NODE_CRITICAL = (
    "system-node-critical",
    2_000_001_000,
    "For critical pods that must stay on their node. No other pods preempt them.",
)
CLUSTER_CRITICAL = (
    "system-cluster-critical",
    2_000_000_000,
    "For critical pods of the cluster, which may move to another node. Only node-critical pods preempt them.",
)


async def create_priority_classes(ensurer: Ensurer) -> None:
    """Create both classes where they are missing."""
    for name, value, description in (NODE_CRITICAL, CLUSTER_CRITICAL):
        obj = {"metadata": {"name": name}, "value": value, "description": description}
        await ensurer.ensure("scheduling.orch.io", "v1", "priorityclasses", obj)
