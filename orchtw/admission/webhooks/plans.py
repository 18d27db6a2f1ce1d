"""Which webhooks a kind of write may concern, worked out once for each until something changes (reference HOOK-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.configurations import Configurations
from orchtw.admission.webhooks.hook import Hook
from orchtw.schema.catalogue import ResourceType

MAX_PLANS: Final = 10_000
"""That are kept: some for each resource."""

MAX_NAMESPACES: Final = 1_000
"""For which one plan keeps its choice."""

_REQUIRING: Final = frozenset({"=", "==", "in", "exists"})


@attrs.frozen(slots=True)
class Match:
    """A webhook, and the resource by which it knows what is written."""

    hook: Hook
    resource: ResourceType
    position: int


class Choice:
    """Webhooks whose rules fit, and whose selectors of objects remain to be asked: by the labels that they need."""

    __slots__ = ("_by_label", "_others", "all", "_plain")

    def __init__(self, matches: Sequence[Match]) -> None:
        self.all = tuple(matches)
        self._by_label: dict[str, list[Match]] = {}
        self._others: list[Match] = []
        for match in matches:
            key = _required(match.hook)
            (self._by_label.setdefault(key, []) if key else self._others).append(match)
        self._plain = not self._by_label and all(match.hook.objects.empty for match in self._others)

    def of(self, attributes: Attributes, after: int = -1) -> Sequence[Match]:
        """Those whose selectors of objects hold for a write, in their order, from a position on."""
        if self._plain:
            return self.all if after < 0 else [match for match in self.all if match.position > after]
        labels = [found for found in (_labels(attributes.obj), _labels(attributes.old)) if found is not None]
        found = list(self._others)
        if self._by_label:
            for key in {key for each in labels for key in each}:
                found += self._by_label.get(key, ())
        wanted = [
            match
            for match in found
            if match.position > after
            and (match.hook.objects.empty or any(map(match.hook.objects.matches, labels)))
        ]
        return sorted(wanted, key=lambda match: match.position)


class Plan:
    """The webhooks whose rules fit a kind of write, chosen from by namespace."""

    def __init__(self, matches: Sequence[Match]) -> None:
        self.whole = Choice(matches)
        self.empty = not matches
        self.asks_namespaces = any(not match.hook.namespaces.empty for match in matches)
        self._chosen: dict[str, tuple[Mapping[str, str], Choice]] = {}

    def within(self, namespace: str, labels: Mapping[str, str]) -> Choice:
        """Those that want to see what happens in a namespace that has these labels, a mapping that nobody changes."""
        known = self._chosen.get(namespace)
        if known is not None and known[0] is labels:
            return known[1]
        if len(self._chosen) >= MAX_NAMESPACES:
            self._chosen.clear()
        choice = Choice([match for match in self.whole.all if match.hook.namespaces.matches(labels)])
        self._chosen[namespace] = (labels, choice)
        return choice


class Plans:
    """Makes them of the configurations; `forget` when these or the resources have changed."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._known: dict[tuple[str, str, str, str, str], Plan] = {}

    def forget(self) -> None:
        """Something has changed."""
        self._known.clear()

    def of(self, attributes: Attributes) -> Plan:
        """The plan of a write."""
        resource, subresource = attributes.resource, attributes.subresource
        key = (attributes.operation, resource.plural, resource.version, resource.group, subresource)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_PLANS:
                self._known.clear()
            found = self._known[key] = self._made(attributes)
        return found

    def _made(self, attributes: Attributes) -> Plan:
        resource, operation, subresource = attributes.resource, attributes.operation, attributes.subresource
        others = [
            each
            for each in attributes.equivalents().values()
            if each.api_version != resource.api_version and _has(each, subresource)
        ]
        matches: list[Match] = []
        for hook in self._configurations.naming(resource.plural):
            seen_as = _seen_as(hook, operation, resource, others, subresource)
            if seen_as is not None:
                matches.append(Match(hook, seen_as, len(matches)))
        return Plan(matches)


def _seen_as(
    hook: Hook, operation: str, resource: ResourceType, others: Sequence[ResourceType], subresource: str
) -> ResourceType | None:
    """The resource by which a webhook is asked: the request's own, else that of the first rule that has another."""
    if any(rule.matches(operation, resource, subresource) for rule in hook.rules):
        return resource
    if not hook.equivalent:
        return None
    found = (each for rule in hook.rules for each in others if rule.matches(operation, each, subresource))
    return next(found, None)


def _has(resource: ResourceType, subresource: str) -> bool:
    return not subresource or any(each.name == subresource for each in resource.subresources)


def _required(hook: Hook) -> str:
    """A label without which the webhook's selector does not hold; empty: there is none."""
    return next((each.key for each in hook.objects.requirements if each.operator in _REQUIRING), "")


def _labels(obj: Mapping[str, object] | None) -> Mapping[str, str] | None:
    """The labels of an object; None: it cannot have any."""
    meta = None if obj is None else obj.get("metadata")
    return meta.get("labels") or {} if isinstance(meta, dict) else None
