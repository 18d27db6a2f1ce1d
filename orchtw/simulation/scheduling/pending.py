"""Queue of pods without a node: active, backing off, or waiting for an event (reference SIM-60)."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Final

import attrs

from orchtw.simulation.clock import SimulationClock, Timer
from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.pod_info import PodInfo

FIRST_BACKOFF_S: Final = 1.0
LONGEST_BACKOFF_S: Final = 10.0
LONGEST_WAIT_S: Final = 300.0
"""Seconds after which a pod is tried again though nothing has happened."""
FLUSH_PERIOD_S: Final = 30.0

EVERYTHING: Final = frozenset(
    {
        reasons.NODE_RESOURCES, reasons.NODE_PORTS, reasons.NODE_AFFINITY, reasons.NODE_UNSCHEDULABLE,
        reasons.TAINTS, reasons.VOLUME_RESTRICTIONS, reasons.VOLUME_BINDING, reasons.VOLUME_ZONE,
        reasons.TOPOLOGY_SPREAD, reasons.POD_AFFINITY,
    }
)  # fmt: skip
POD_GONE: Final = frozenset(
    {
        reasons.NODE_RESOURCES, reasons.NODE_PORTS, reasons.VOLUME_RESTRICTIONS, reasons.TOPOLOGY_SPREAD,
        reasons.POD_AFFINITY,
    }
)  # fmt: skip
POD_ADDED: Final = frozenset({reasons.TOPOLOGY_SPREAD, reasons.POD_AFFINITY})
VOLUMES_CHANGED: Final = frozenset({reasons.VOLUME_BINDING, reasons.VOLUME_ZONE, reasons.VOLUME_RESTRICTIONS})


@attrs.define(slots=True, eq=False)
class Pending:
    """A pod in the queue. `plugins` are those that have refused it; empty: any event may help."""

    pod: PodInfo
    attempts: int = 0
    until_s: float = 0.0
    """Simulated seconds at which its back-off ends."""
    since_s: float = 0.0
    plugins: frozenset[str] = frozenset()


class PendingPods:
    """Pods by key; `ready` is called when there is one to be tried."""

    def __init__(self, clock: SimulationClock, ready: Callable[[], None]) -> None:
        self._clock = clock
        self._ready = ready
        self._pods: dict[str, Pending] = {}
        self._heap: list[tuple[int, int, str]] = []
        self._active: dict[str, int] = {}
        """Numbers in the heap of active pods: other entries of the heap are out of date."""
        self._backing_off: dict[str, Timer] = {}
        self._waiting: dict[str, Pending] = {}
        self._numbers = count()
        self._events: set[frozenset[str]] = set()

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    @property
    def has_active(self) -> bool:
        """Report whether a pod is to be tried now."""
        return bool(self._active)

    def clear(self) -> None:
        """Forget all pods and their timers."""
        for key in tuple(self._pods):
            self.remove(key)

    def get(self, key: str) -> Pending | None:
        """Return a pod of the queue, or None."""
        return self._pods.get(key)

    def add(self, pod: PodInfo) -> None:
        """Add a pod, or its new state: it is tried at once, unless it backs off."""
        found = self._pods.get(pod.key)
        if found is None:
            self._pods[pod.key] = found = Pending(pod)
        found.pod = pod
        self._waiting.pop(pod.key, None)
        if pod.key not in self._active and pod.key not in self._backing_off:
            self._try(found)

    def refresh(self, pod: PodInfo) -> None:
        """Take in a new state that changes nothing for scheduling."""
        found = self._pods.get(pod.key)
        if found is not None:
            found.pod = pod

    def remove(self, key: str) -> None:
        """Forget a pod and its timer."""
        self._pods.pop(key, None)
        self._active.pop(key, None)
        self._waiting.pop(key, None)
        if (timer := self._backing_off.pop(key, None)) is not None:
            timer.cancel()

    def pop(self) -> Pending | None:
        """Take the active pod of the highest priority out of the queue, or None; the oldest of several."""
        self._move()
        while self._heap:
            _, number, key = heapq.heappop(self._heap)
            if self._active.get(key) == number:
                del self._active[key]
                found = self._pods.pop(key)
                found.attempts += 1
                return found
        return None

    def failed(self, pending: Pending, plugins: frozenset[str]) -> None:
        """Take back a pod that fits nowhere: it waits for an event that may change that."""
        self._return(pending, plugins)
        self._waiting[pending.pod.key] = pending

    def again(self, pending: Pending) -> None:
        """Take back a pod with which something went wrong: it is tried again after its back-off."""
        self._return(pending, frozenset())
        self._try(pending)

    def event(self, plugins: frozenset[str]) -> None:
        """Try pods again that these plugins have refused, for all events of a turn together.

        Events also count for the pod that is being tried: it may have been refused by an older state.
        """
        if plugins not in self._events:
            self._events.add(plugins)
            if self._waiting:
                self._ready()

    def flush(self) -> bool:
        """Try pods again that have waited for long; report whether there were any."""
        end = self._clock.seconds() - LONGEST_WAIT_S
        late = [each for each in self._waiting.values() if each.since_s <= end]
        for each in late:
            del self._waiting[each.pod.key]
            self._try(each)
        return bool(late)

    def _return(self, pending: Pending, plugins: frozenset[str]) -> None:
        now = self._clock.seconds()
        backoff_s = min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(pending.attempts - 1, 10))
        pending.until_s, pending.since_s, pending.plugins = now + backoff_s, now, plugins
        self._pods[pending.pod.key] = pending

    def _move(self) -> None:
        """Move the pods that the events may help."""
        events, self._events = self._events, set()
        if not events or not self._waiting:
            return
        together = frozenset().union(*events)
        helped = [each for each in self._waiting.values() if not each.plugins or each.plugins & together]
        for each in helped:
            del self._waiting[each.pod.key]
            self._try(each)

    def _try(self, pending: Pending) -> None:
        """Make a pod active, once it no longer backs off."""
        key, left = pending.pod.key, pending.until_s - self._clock.seconds()
        if left > 0:
            self._backing_off[key] = self._clock.call_later(left, self._backed_off, key)
            return
        self._active[key] = number = next(self._numbers)
        heapq.heappush(self._heap, (-pending.pod.priority, number, key))
        self._ready()

    def _backed_off(self, key: str) -> None:
        del self._backing_off[key]
        self._try(self._pods[key])
