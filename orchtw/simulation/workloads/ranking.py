"""Order in which a controller deletes its pods when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log2
from typing import Final

from orchtw.simulation.workloads.pods import PodView
from orchtw.values.times import parse_time

_PHASES: Final = {"Pending": 0, "": 1, "Unknown": 1, "Running": 2}


def first_to_go(pods: Sequence[PodView], related: Iterable[PodView], count: int, now: float) -> Sequence[PodView]:
    """Return the `count` pods to delete.

    These come first: pods without a node, pending, not ready, of lower deletion cost, on a node with more of the
    `related` active pods, ready for a shorter time, with more restarts, newer. Times count by their order of
    magnitude, as seen `now` (seconds since the epoch); pods of one magnitude come in the order of their uids.
    """
    if count >= len(pods):
        return pods
    doubled = Counter(pod.node for pod in related if pod.node and pod.active)

    def rank(pod: PodView) -> tuple[object, ...]:
        return (
            bool(pod.node),
            _PHASES.get(pod.phase, 1),
            pod.ready,
            pod.deletion_cost,
            -doubled[pod.node],
            _magnitude(pod.ready_since, now),
            -pod.restarts,
            _magnitude(float(parse_time(pod.created)[0]), now),
            pod.uid,
        )

    return sorted(pods, key=rank)[:count]


def _magnitude(since: float | None, now: float) -> int:
    """Return the order of magnitude of the time since then; -1 for none."""
    return int(log2((now - since) * 1e9)) if since is not None and now > since else -1
