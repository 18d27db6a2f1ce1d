"""Use of CPU and memory by the pods of a target, and the pods that count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from orchtw.simulation.usage.usage import scaled, used
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

MILLI: Final = 3
WINDOW_S: Final = 30.0
"""Time over which the use of a pod is measured."""
_INITIAL_S: Final = 300.0
"""Time after a pod's start in which its CPU counts only while it is ready."""
_DELAY_S: Final = 30.0
"""Time after a pod's start in which it may become ready without having been so before."""


class NoSample(Exception):
    """Error: a metric cannot be had; its text is for users."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Thousandths by name of the pods that count; names of pods that are not ready, or whose use is not known."""

    values: Mapping[str, int]
    unready: frozenset[str]
    missing: frozenset[str]

    @property
    def ready(self) -> Mapping[str, int]:
        """Values of the pods that are ready."""
        return {name: value for name, value in self.values.items() if name not in self.unready}


def usage_of(pods: Iterable[Object], resource: str, container: str) -> dict[str, int]:
    """Return the thousandths of cpu or memory that each running pod uses, or one of its containers.

    Raises NoSample.
    """
    found = {}
    for pod in pods if resource in ("cpu", "memory") else ():
        amounts = used(pod)
        if container:
            amounts = {name: each for name, each in amounts.items() if name == container}
        if amounts:
            found[pod["metadata"]["name"]] = sum(
                -(-each.cpu // 10**6) if resource == "cpu" else each.memory * 1000 for each in amounts.values()
            )
    if not found:
        text = "no metrics returned from resource metrics API"
        raise NoSample(f"unable to get metrics for resource {resource}: {text}")
    return found


def requests_of(pods: Iterable[Object], resource: str, container: str) -> dict[str, int]:
    """Return the thousandths that each pod requests, or one of its containers. Raises NoSample if one does not."""
    found = {}
    for pod in pods:
        texts = [
            ((each.get("resources") or {}).get("requests") or {}).get(resource)
            for each in pod["spec"]["containers"]
            if not container or each["name"] == container
        ]
        if not all(texts):
            raise NoSample(f"missing request for {resource}")
        found[pod["metadata"]["name"]] = sum(scaled(text, MILLI) for text in texts if text)
    return found


def sample(pods: Iterable[Object], values: Mapping[str, int], resource: str, now: float) -> Sample:
    """Sort pods by what their values are worth; those that end or have failed are left out."""
    kept, unready, missing = {}, set(), set()
    for pod in pods:
        name, phase = pod["metadata"]["name"], (pod.get("status") or {}).get("phase")
        if pod["metadata"].get("deletionTimestamp") or phase == "Failed":
            continue
        if phase == "Pending" or not phase:
            unready.add(name)
        elif name not in values:
            missing.add(name)
        else:
            kept[name] = values[name]
            if resource == "cpu" and _starts(pod, now):
                unready.add(name)
    return Sample(values=kept, unready=frozenset(unready), missing=frozenset(missing))


def _starts(pod: Object, now: float) -> bool:
    """Report whether the CPU that a pod uses may be that of its start."""
    status = pod.get("status") or {}
    ready = next((each for each in status.get("conditions") or () if each["type"] == "Ready"), None)
    if ready is None or not status.get("startTime") or not ready.get("lastTransitionTime"):
        return True
    start, since = parse_time(status["startTime"])[0], parse_time(ready["lastTransitionTime"])[0]
    if now < start + _INITIAL_S:
        return bool(ready["status"] == "False" or now < since + WINDOW_S)
    return bool(ready["status"] == "False" and since < start + _DELAY_S)
