"""Pods that a Job lacks or has too many of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from orchtw.simulation.workloads.jobs.backoffs import backoff_left_s
from orchtw.simulation.workloads.jobs.tally import JobPods
from orchtw.wire.objects import Object

MOST_AT_ONCE: Final = 500
"""Most pods that one look at a Job creates or deletes."""


class Demand(msgspec.Struct, frozen=True):
    """Pods to delete, and the indexes of those to create (None without indexes).

    `wait_s` are the seconds until more may be created, None if there is nothing to wait for.
    """

    surplus: Sequence[Object] = ()
    missing: Sequence[int | None] = ()
    wait_s: float | None = None


def demand(tally: JobPods, now: float) -> Demand:
    """Return what a Job that goes on asks for."""
    spec = tally.job["spec"]
    if spec.get("suspend"):
        return Demand(surplus=tally.active[:MOST_AT_ONCE])
    parallelism = spec.get("parallelism", 1)
    wanted = _wanted(tally, parallelism)
    surplus = _surplus(tally, wanted)
    if surplus:
        return Demand(surplus=surplus[:MOST_AT_ONCE])
    held = len(tally.active) + (len(tally.terminating) if spec.get("podReplacementPolicy") == "Failed" else 0)
    missing = min(wanted - held, MOST_AT_ONCE)
    if missing <= 0:
        return Demand()
    if spec.get("backoffLimitPerIndex") is not None:
        return _by_index(tally, missing, now)
    left_s = backoff_left_s(tally.failed, tally.succeeded, now)
    if left_s:
        return Demand(wait_s=left_s)
    return Demand(missing=list(islice(_open(tally), missing)) if tally.indexed else [None] * missing)


def _wanted(tally: JobPods, parallelism: int) -> int:
    """Return the number of pods that should be active."""
    completions: int | None = tally.job["spec"].get("completions")
    if completions is None:
        return min(len(tally.active), parallelism) if tally.succeeded else parallelism
    return max(0, min(completions - tally.completed - len(tally.lost), parallelism))


def _surplus(tally: JobPods, wanted: int) -> list[Object]:
    """Return the active pods that should not be: of a wrong or doubled index, then those that have done least."""
    wrong, kept = [], []
    seen: set[int] = set()
    for pod in tally.active:
        index = tally.index(pod)
        fits = index is not None and index < (tally.job["spec"].get("completions") or 0) and index not in seen
        if tally.indexed and (not fits or index in tally.done):
            wrong.append(pod)
        else:
            kept.append(pod)
            if index is not None:
                seen.add(index)
    kept.sort(key=_progress)
    return wrong + kept[: max(0, len(kept) - wanted)]


def _progress(pod: Object) -> tuple[bool, bool, str]:
    status = pod.get("status") or {}
    return bool(pod["spec"].get("nodeName")), status.get("phase") == "Running", pod["metadata"]["uid"]


def _open(tally: JobPods) -> Iterator[int]:
    """Yield the indexes for which there is no pod and that are neither completed nor failed."""
    held = tally.active + (
        tally.terminating if tally.job["spec"].get("podReplacementPolicy") == "Failed" else []
    )
    taken = {tally.index(pod) for pod in held} | tally.done | tally.lost
    return (index for index in range(tally.job["spec"].get("completions") or 0) if index not in taken)


def _by_index(tally: JobPods, missing: int, now: float) -> Demand:
    """Return the indexes that need a pod, each after a delay of its own."""
    failures: dict[int | None, list[Object]] = {}
    for pod in tally.failed:
        failures.setdefault(tally.index(pod), []).append(pod)
    found: list[int | None] = []
    waits: list[float] = []
    for index in _open(tally):
        left_s = backoff_left_s(failures.get(index, ()), (), now)
        if left_s:
            waits.append(left_s)
        elif len(found) < missing:
            found.append(index)
    return Demand(missing=found, wait_s=min(waits, default=None))
