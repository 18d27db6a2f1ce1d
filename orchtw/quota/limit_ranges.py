"""LimitRanges: defaults for containers, and bounds of requests and limits (reference PLUG-33, PLUG-34)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from orchtw.quota.amounts import NOTHING, ONE, ZERO, Amount, Amounts, amounts, largest, total, whole
from orchtw.wire.objects import Object

_CONTAINERS: Final = (("containers", "container"), ("initContainers", "init container"))


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a LimitRange: minimum and maximum amounts, and maximum ratios of limit to request."""

    type: str
    least: Amounts
    most: Amounts
    ratios: Amounts

    def problems(self, requests: Amounts, limits: Amounts) -> Iterator[str]:
        """Yield an error for each rule that requests and limits of a container or pod break."""
        for name in self.least:
            yield from self._below(name, self.least[name], requests.get(name), limits.get(name))
        for name in self.most:
            yield from self._above(name, self.most[name], requests.get(name), limits.get(name))
        for name in self.ratios:
            yield from self._beyond(name, self.ratios[name], requests.get(name), limits.get(name))

    def claim_problems(self, requests: Amounts) -> Iterator[str]:
        """Yield an error for each rule that the requests of a claim break."""
        for name in self.least:
            yield from self._below(name, self.least[name], requests.get(name), None)
        for name, most in self.most.items():
            asked, rule = requests.get(name), f"maximum {name} usage per {self.type} is {most.text}"
            if asked is None:
                yield f"{rule}.  No request is specified"
            elif asked.nanos > most.nanos:
                yield f"{rule}, but request is {asked.text}"

    def _below(self, name: str, least: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
        rule = f"minimum {name} usage per {self.type} is {least.text}"
        if request is None:
            yield f"{rule}.  No request is specified"
        elif request.nanos < least.nanos:
            yield f"{rule}, but request is {request.text}"
        elif limit is not None and limit.nanos < least.nanos:
            yield f"{rule}, but limit is {limit.text}"

    def _above(self, name: str, most: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
        rule = f"maximum {name} usage per {self.type} is {most.text}"
        if limit is None:
            yield f"{rule}.  No limit is specified"
        elif limit.nanos > most.nanos:
            yield f"{rule}, but limit is {limit.text}"
        elif request is not None and request.nanos > most.nanos:
            yield f"{rule}, but request is {request.text}"

    def _beyond(self, name: str, ratio: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
        rule = f"{name} max limit to request ratio per {self.type} is {ratio.text}"
        if request is None or not request.nanos:
            yield f"{rule}, but no request is specified or request is 0"
        elif limit is None or not limit.nanos:
            yield f"{rule}, but no limit is specified or limit is 0"
        elif limit.nanos * ONE.nanos > ratio.nanos * request.nanos:
            yield f"{rule}, but provided ratio is {_decimals(limit.nanos, request.nanos)}"


class LimitRange(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a LimitRange; `requests` and `limits` are the defaults of containers."""

    items: tuple[Limits, ...]
    requests: Mapping[str, str]
    limits: Mapping[str, str]

    @classmethod
    def of(cls, obj: Object) -> LimitRange:
        """Read a canonical LimitRange object."""
        items: list[Limits] = []
        requests: dict[str, str] = {}
        limits: dict[str, str] = {}
        for item in obj["spec"].get("limits") or ():
            items.append(
                Limits(
                    type=item.get("type", ""),
                    least=_sorted(item.get("min")),
                    most=_sorted(item.get("max")),
                    ratios=_sorted(item.get("maxLimitRequestRatio")),
                )
            )
            if item.get("type") == "Container":
                requests.update(item.get("defaultRequest") or {})
                limits.update(item.get("default") or {})
        return cls(items=tuple(items), requests=requests, limits=limits)

    def complete(self, pod: Object) -> tuple[Object, str]:
        """Return the pod with defaults filled in, and a note of them for an annotation.

        A pod that needs no defaults is returned as it is, with "". The result shares unchanged parts with `pod`.
        """
        if not self.requests and not self.limits:
            return pod, ""
        spec, notes = dict(pod["spec"]), list[str]()
        for key, shown in _CONTAINERS:
            if containers := spec.get(key):
                spec[key] = [self._completed(each, shown, notes) for each in containers]
        return ({**pod, "spec": spec}, f"LimitRanger plugin set: {'; '.join(notes)}") if notes else (pod, "")

    def _completed(self, container: Object, shown: str, notes: list[str]) -> Object:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        more_requests = sorted(self.requests.keys() - requests.keys())
        more_limits = sorted(self.limits.keys() - limits.keys())
        name = container.get("name", "")
        if more_requests:
            notes.append(f"{', '.join(more_requests)} request for {shown} {name}")
        if more_limits:
            notes.append(f"{', '.join(more_limits)} limit for {shown} {name}")
        if not more_requests and not more_limits:
            return container
        found = {"limits": _joined(self.limits, limits), "requests": _joined(self.requests, requests)}
        return {**container, "resources": {key: each for key, each in found.items() if each}}

    def pod_problems(self, pod: Object) -> list[str]:
        """Return the distinct errors of a pod."""
        spec, found = pod["spec"], dict[str, None]()
        for item in self.items:
            if item.type == "Container":
                for key, _ in _CONTAINERS:
                    for container in spec.get(key) or ():
                        found.update(dict.fromkeys(item.problems(*_resources(container))))
            elif item.type == "Pod":
                found.update(dict.fromkeys(item.problems(_of_pod(spec, "requests"), _of_pod(spec, "limits"))))
        return list(found)

    def claim_problems(self, claim: Object) -> list[str]:
        """Return the distinct errors of a PersistentVolumeClaim."""
        requests = amounts((claim["spec"].get("resources") or {}).get("requests"))
        of_claims = (item for item in self.items if item.type == "PersistentVolumeClaim")
        return list(dict.fromkeys(text for item in of_claims for text in item.claim_problems(requests)))


def shown(problems: Sequence[str]) -> str:
    """Join errors for a 403, in brackets if several."""
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


def _sorted(found: Mapping[str, str] | None) -> Amounts:
    return dict(sorted(amounts(found).items())) if found else NOTHING


def _joined(defaults: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted({**defaults, **own}.items()))


def _resources(container: Object) -> tuple[Amounts, Amounts]:
    resources = container.get("resources") or {}
    return amounts(resources.get("requests")), amounts(resources.get("limits"))


def _of_pod(spec: Object, key: str) -> Amounts:
    """Return the sum of each amount that all containers set, or an init container's amount if that is larger.

    Sums are decimal, whatever notation the containers use; except for cpu, each part is rounded up to a whole number.
    """
    initial = spec.get("initContainers") or ()
    lasting = [each for each in initial if each.get("restartPolicy") == "Always"]
    holders = [*(spec.get("containers") or ()), *lasting]
    lists = [amounts((each.get("resources") or {}).get(key)) for each in holders]
    in_all = set(lists[0]).intersection(*lists[1:]) if lists else set[str]()
    sums = {name: _sum(name, [each[name] for each in lists]) for name in in_all}
    sidecars: Amounts = {}
    for container in initial:
        own = total(amounts((container.get("resources") or {}).get(key)), sidecars)
        if container.get("restartPolicy") == "Always":
            sidecars = own
        sums = dict(largest(own, sums))
    return {**sums, **amounts((spec.get("resources") or {}).get(key))}


def _sum(name: str, parts: Sequence[Amount]) -> Amount:
    if name == "cpu":
        return Amount(sum(part.nanos for part in parts), ZERO.family)
    return whole(sum(-(-part.nanos // ONE.nanos) for part in parts))


def _decimals(left: int, right: int) -> str:
    """Format a quotient with six decimal places, exactly for integers of any size."""
    millionths = (2 * left * 1_000_000 + right) // (2 * right)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06}"
