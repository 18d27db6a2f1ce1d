"""Pods that a DaemonSet lacks on a node, and those that it has too many of there."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.simulation.workloads.daemons.eligibility import Verdict
from orchtw.simulation.workloads.daemons.template import is_updated
from orchtw.simulation.workloads.pods import PodView
from orchtw.wire.objects import Object


class Judgement:
    """Decision on one node: `needed` asks for a pod; `ended` pods have failed or succeeded; `surplus` are others."""

    __slots__ = ("ended", "needed", "surplus")

    def __init__(self) -> None:
        self.needed = False
        self.ended: list[PodView] = []
        self.surplus: list[PodView] = []


def judge(
    owner: Object, verdict: Verdict, pods: Sequence[PodView], digest: str, now: float, *, surges: bool
) -> Judgement:
    """Decide on one node with these pods; `digest` is the hash of the present revision.

    `surges`: an old and a new pod may run there together during an update. `now` is in seconds since the epoch.
    """
    found, (runs, stays) = Judgement(), verdict
    if runs and not pods:
        found.needed = True
    elif not stays:
        found.surplus = [pod for pod in pods if not pod.terminating]
    else:
        present = [pod for pod in pods if not pod.terminating]
        found.ended = [pod for pod in present if not pod.active]
        running = sorted((pod for pod in present if pod.active), key=_age)
        found.surplus = _surging(owner, running, digest, now) if surges else running[1:]
    return found


def _age(pod: PodView) -> tuple[bool, str, str]:
    """Order of pods on a node: those that are bound to it come first, then the older ones."""
    return not pod.node, pod.created, pod.name


def _surging(owner: Object, running: Sequence[PodView], digest: str, now: float) -> list[PodView]:
    """Return all but the oldest new and the oldest old pod; the latter too, once it is no longer needed."""
    new = [pod for pod in running if is_updated(owner, pod, digest)]
    old = [pod for pod in running if not is_updated(owner, pod, digest)]
    surplus = [*new[1:], *old[1:]]
    min_ready_s = owner["spec"].get("minReadySeconds") or 0
    if new and old and (not old[0].ready or new[0].available(min_ready_s, now)):
        surplus.append(old[0])
    return surplus
