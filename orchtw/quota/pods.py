"""Quota evaluator of pods: their number, and their requests and limits (reference KIND-97)."""

from __future__ import annotations

from typing import Final

from orchtw.naming.naming import Naming
from orchtw.quota.amounts import NOTHING, ONE, Amount, Amounts, amounts, largest, texts, total
from orchtw.quota.scopes import traits
from orchtw.quota.usage import Usage
from orchtw.rules.resource_names import is_extended, is_huge_pages, is_native
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

_COUNT: Final = "count/pods"
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_NAMES: Final = frozenset(
    (_COUNT, "pods", *_COMPUTE, *(f"{prefix}{name}" for prefix in (_REQUESTS, _LIMITS) for name in _COMPUTE))
)
_REQUIRED: Final = frozenset(f"{prefix}{name}" for prefix in ("", _REQUESTS, _LIMITS) for name in ("cpu", "memory"))
"""Entries for which every container must set an amount if a quota limits them."""

_ENDED: Final = ("Succeeded", "Failed")


class PodEvaluator:
    """Evaluator of pods. Entry `count/pods` counts a pod until it is deleted, all others until it has terminated."""

    grows = False
    fixed: Usage | None = None
    names = _NAMES

    def __init__(self, naming: Naming) -> None:
        self._naming = naming

    def counts(self, name: str) -> bool:
        """Report whether the name is counted, as `Evaluator.counts`; the methods below are those of `Evaluator`."""
        asked = name.removeprefix(_REQUESTS)
        return name in _NAMES or is_huge_pages(asked) or asked != name and not is_native(name, self._naming)

    def usage(self, obj: Object) -> Usage:
        meta, spec = obj["metadata"], obj["spec"]
        present = frozenset({(_COUNT, ONE)})
        if (obj.get("status") or {}).get("phase") in _ENDED:
            return Usage(present, traits(spec))
        used = total({_COUNT: ONE}, self._held(*_asked(spec)))
        ends, grace_s = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
        until = parse_time(ends)[0] + grace_s if ends and grace_s is not None else None
        return Usage(frozenset(used.items()), traits(spec), until, present)

    def missing(self, obj: Object) -> set[str]:
        found: set[str] = set()
        for key in ("containers", "initContainers"):
            for container in obj["spec"].get(key) or ():
                found |= _REQUIRED.difference(self._held(*_resources(container)))
        return found.difference(self._held(*_resources(obj["spec"]))) if "resources" in obj["spec"] else found

    def _held(self, requests: Amounts, limits: Amounts) -> dict[str, Amount]:
        """Return entry `pods`, and requests and limits under each of their entry names."""
        held = {"pods": ONE}
        for name in _COMPUTE:
            if name in requests:
                held[name] = held[_REQUESTS + name] = requests[name]
            if name in limits:
                held[_LIMITS + name] = limits[name]
        for name, asked in requests.items():
            if is_huge_pages(name):
                held[name] = held[_REQUESTS + name] = asked
            elif is_extended(name, self._naming):
                held[_REQUESTS + name] = asked
        return held


def _resources(container: Object) -> tuple[Amounts, Amounts]:
    resources = container.get("resources") or {}
    return amounts(resources.get("requests")), amounts(resources.get("limits"))


def container_requests(spec: Object) -> dict[str, str]:
    """Return the requests of a pod's containers together, as quantities."""
    return texts(_of_containers(spec)[0])


def pod_requests(spec: Object) -> Amounts:
    """Return the requests of a pod as nodes count them: with its overhead, and what its start takes if more."""
    return _asked(spec)[0]


def _asked(spec: Object) -> tuple[Amounts, Amounts]:
    """Return a pod's requests and limits, with its overhead; those of the pod as a whole replace its containers'."""
    requests, limits = _of_containers(spec)
    if spec.get("resources") is not None:
        more, most = _resources(spec)
        requests, limits = {**requests, **more}, {**limits, **most}
    overhead = amounts(spec.get("overhead"))
    return total(requests, overhead), total(limits, overhead)


def _of_containers(spec: Object) -> tuple[Amounts, Amounts]:
    """Return the sum of containers and sidecars, or what an init container takes with earlier sidecars, if more."""
    requests, limits = NOTHING, NOTHING
    for container in spec.get("containers") or ():
        more, most = _resources(container)
        requests, limits = total(requests, more), total(limits, most)
    sidecars, starting = (NOTHING, NOTHING), (NOTHING, NOTHING)
    for container in spec.get("initContainers") or ():
        more, most = _resources(container)
        now = total(more, sidecars[0]), total(most, sidecars[1])
        if container.get("restartPolicy") == "Always":
            requests, limits, sidecars = total(requests, more), total(limits, most), now
        starting = largest(starting[0], now[0]), largest(starting[1], now[1])
    return largest(requests, starting[0]), largest(limits, starting[1])
