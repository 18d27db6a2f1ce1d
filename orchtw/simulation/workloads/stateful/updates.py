"""Pods of a StatefulSet that a rolling update replaces next."""

from __future__ import annotations

from orchtw.simulation.workloads.hashes import REVISION_HASH
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.shares import share
from orchtw.simulation.workloads.stateful.members import Members, is_healthy
from orchtw.wire.objects import Object


def outdated(owner: Object, members: Members, revision: str) -> list[PodView]:
    """Return the pods to delete now, from the highest number down to the partition, so that they come anew.

    One at a time, each when those above it are healthy; with maxUnavailable that many at a time.
    """
    rolling = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
    partition = rolling.get("partition") or 0
    numbers = list(reversed(members.wanted))[: max(0, len(members.wanted) - partition)]
    limit = rolling.get("maxUnavailable")
    if limit is not None:
        most = max(1, share(limit, len(members.wanted), up=False))
        return _several(members, numbers, revision, most)
    for number in numbers:
        pod = members.get(number)
        if pod is None:
            return []
        if pod.labels.get(REVISION_HASH) != revision and not pod.terminating:
            return [pod]
        if not is_healthy(pod):
            return []
    return []


def _several(members: Members, numbers: list[int], revision: str, most: int) -> list[PodView]:
    """Return so many outdated pods that no more than `most` of all are unavailable."""
    pods = [members.get(number) for number in members.wanted]
    room = most - sum(pod is None or not is_healthy(pod) for pod in pods)
    found = [
        pod
        for number in numbers
        if (pod := members.get(number)) is not None
        and pod.labels.get(REVISION_HASH) != revision
        and not pod.terminating
    ]
    return found[: max(0, room)]
