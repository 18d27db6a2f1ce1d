"""Time until pods that are ready become available."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.simulation.workloads.pods import PodView


def until_available(pods: Iterable[PodView], min_ready_s: float, now: float) -> float | None:
    """Return the simulated seconds until the next of the pods becomes available; None if none will by itself."""
    if not min_ready_s:
        return None
    waits = [
        pod.ready_since + min_ready_s - now
        for pod in pods
        if pod.active and pod.ready_since is not None and not pod.available(min_ready_s, now)
    ]
    return min(waits, default=None)
