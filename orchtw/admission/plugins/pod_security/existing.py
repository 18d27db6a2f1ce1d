"""Checks of existing pods against a stricter standard of their namespace (reference PLUG-38, PLUG-103)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.admission.plugins.pod_security.checks import violations
from orchtw.admission.plugins.pod_security.policy import Standard
from orchtw.admission.plugins.pod_security.subject import subject
from orchtw.admission.plugins.pod_security.violations import Violations
from orchtw.registry.groups.core.pod_annotations import AnnotationKeys
from orchtw.registry.offload import Compute
from orchtw.registry.stored import Stored
from orchtw.values.causes import go_quote
from orchtw.watch.entry import NO_LABELS, Entry

MOST_PODS: Final = 3000
TIME_S: Final = 1.0
SLICE_S: Final = 0.008
"""Reactor time for checks of existing pods, of all namespaces together, in one turn."""


class ExistingPods:
    """Checks of cached pods, in slices between which the reactor runs.

    Pods of the runtime classes in `exempt` are left out.
    """

    def __init__(self, pods: Stored, keys: AnnotationKeys, clock: IReactorTime, exempt: frozenset[str]) -> None:
        self._pods = pods
        self._keys = keys
        self._clock = clock
        self._exempt = exempt
        self._lock = DeferredLock()

    async def warnings(self, namespace: str, standard: Standard, run: Compute) -> list[str]:
        """Return warnings about existing pods that violate a stricter standard, and about unchecked ones."""
        deadline = self._clock.seconds() + TIME_S
        entries = self._pods.cache.snapshot(namespace)
        chosen = entries[:] if len(entries) <= MOST_PODS else _chosen(entries)
        found: dict[str, list[str]] = {}
        checked = 0
        while checked < len(chosen) and self._clock.seconds() < deadline:
            await self._lock.acquire()
            try:
                checked = await self._slice(chosen, checked, standard, run, found)
                await deferLater(self._clock, 0)
            finally:
                self._lock.release()
        told = []
        if checked < len(entries):
            what = "new PodSecurity enforce level only checked against the first"
            told.append(f"{what} {checked} of {len(entries)} existing pods")
        if found:
            what = f"existing pods in namespace {go_quote(namespace)} violate the new PodSecurity enforce level"
            told.append(f"{what} {go_quote(str(standard))}")
        return told + sorted(_grouped(names, reasons) for reasons, names in found.items())

    async def _slice(
        self, chosen: Sequence[Entry], at: int, standard: Standard, run: Compute, found: dict[str, list[str]]
    ) -> int:
        """Check pods from index `at` on for SLICE_S; returns the next index.

        Names of violating pods are added to `found`, by the reasons.
        """
        end = self._clock.seconds() + SLICE_S
        while at < len(chosen):
            entry = chosen[at]
            wrong = await run(len(entry.raw), lambda entry=entry: self._look(entry, standard))  # type: ignore[misc]
            if wrong:
                found.setdefault(", ".join(each.reason for each in wrong), []).append(entry.name)
            at += 1
            if self._clock.seconds() >= end:
                break
        return at

    def _look(self, entry: Entry, standard: Standard) -> Violations:
        pod = self._pods.load(entry)
        if pod["spec"].get("runtimeClassName") in self._exempt:
            return ()
        return violations(standard, subject(pod["metadata"], pod["spec"], self._keys))


def _chosen(entries: Sequence[Entry]) -> list[Entry]:
    """Return MOST_PODS pods to check, first one of each set of labels: pods of a controller mostly share them."""
    first, others, seen = [], [], set()
    for entry in entries:
        if entry.labels is not NO_LABELS and id(entry.labels) in seen:
            others.append(entry)
        else:
            seen.add(id(entry.labels))
            first.append(entry)
    return (first + others)[:MOST_PODS]


def _grouped(names: Sequence[str], reasons: str) -> str:
    others = len(names) - 1
    if not others:
        return f"{names[0]}: {reasons}"
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'}): {reasons}"
