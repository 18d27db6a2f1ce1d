"""The priority classes of pods that are critical for the system (reference CTRL-8)."""

from __future__ import annotations

from orchtw.bootstrap.ensurer import Ensurer

NODE_CRITICAL = (
    "system-node-critical",
    2_000_001_000,
    "For pods that their node must not lose: they are preempted by nothing else.",
)
CLUSTER_CRITICAL = (
    "system-cluster-critical",
    2_000_000_000,
    "For pods that the cluster must not lose; they give way to those that their node needs.",
)


async def create_priority_classes(ensurer: Ensurer) -> None:
    """Create both classes where they are missing."""
    for name, value, description in (NODE_CRITICAL, CLUSTER_CRITICAL):
        obj = {"metadata": {"name": name}, "value": value, "description": description}
        await ensurer.ensure("scheduling.orch.io", "v1", "priorityclasses", obj)
