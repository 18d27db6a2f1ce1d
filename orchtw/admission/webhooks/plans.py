"""Webhooks that a kind of write may match, found once and cached until something changes (reference HOOK-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.configurations import Configurations
from orchtw.admission.webhooks.hook import Configuration, Hook
from orchtw.admission.webhooks.order import in_call_order
from orchtw.rules.selectors import ALL_LABELS, LabelSelector
from orchtw.schema.catalogue import ResourceType

MAX_PLANS: Final = 10_000
"""Limit of cached plans; a resource has several."""

MAX_NAMESPACES: Final = 1_000
"""Limit of namespaces for which one plan caches its choice."""

_VALUES: Final = frozenset({"=", "==", "in"})


class Match(msgspec.Struct, frozen=True):
    """Webhook whose rules match, the resource through which it sees the write, and its position in the calls."""

    hook: Hook
    resource: ResourceType
    position: int


Group = tuple[LabelSelector, list[Match]]


class Choice:
    """Webhooks whose rules match, indexed by their object selectors.

    Each distinct selector is evaluated once, and not at all if it needs a label that the object lacks: a hundred
    configurations take a few microseconds.
    """

    __slots__ = ("_by_key", "_by_label", "_others", "_plain", "all")

    def __init__(self, matches: Sequence[Match]) -> None:
        self.all = tuple(matches)
        grouped: dict[LabelSelector, list[Match]] = {}
        for match in matches:
            grouped.setdefault(match.hook.objects, []).append(match)
        self._plain = not matches or list(grouped) == [ALL_LABELS]
        self._by_label: dict[tuple[str, str], list[Group]] = {}
        self._by_key: dict[str, list[Group]] = {}
        self._others: list[Group] = []
        for group in grouped.items():
            self._file(group)

    def of(self, attributes: Attributes, after: int = -1) -> Sequence[Match]:
        """Return the matches after position `after` whose object selectors fit a write, in order."""
        if self._plain:
            return self.all if after < 0 else [match for match in self.all if match.position > after]
        labels = [found for found in (labels_of(attributes.obj), labels_of(attributes.old)) if found is not None]
        asked = list(self._others)
        for label in {label for each in labels for label in each.items()}:
            asked += self._by_label.get(label, ())
            asked += self._by_key.get(label[0], ())
        found = {
            match.position: match
            for selector, group in asked
            if selector.empty or any(map(selector.matches, labels))
            for match in group
            if match.position > after
        }
        return [found[position] for position in sorted(found)]

    def _file(self, group: Group) -> None:
        """Index a selector by a label, or the key of one, that it requires."""
        for each in group[0].requirements:
            if each.operator in _VALUES:
                for value in each.values:
                    self._by_label.setdefault((each.key, value), []).append(group)
                return
            if each.operator == "exists":
                self._by_key.setdefault(each.key, []).append(group)
                return
        self._others.append(group)


class WebhookPlan:
    """Webhooks whose rules match a kind of write, with a choice from them for each namespace."""

    def __init__(self, matches: Sequence[Match]) -> None:
        self.whole = Choice(matches)
        self.empty = not matches
        self.asks_namespaces = any(not match.hook.namespaces.empty for match in matches)
        self._chosen: dict[str, tuple[Mapping[str, str], Choice]] = {}

    def within(self, namespace: str, labels: Mapping[str, str]) -> Choice:
        """Return the webhooks whose namespace selectors match `labels`, an immutable mapping, of the namespace."""
        known = self._chosen.get(namespace)
        if known is not None and known[0] is labels:
            return known[1]
        if len(self._chosen) >= MAX_NAMESPACES:
            self._chosen.clear()
        choice = Choice([match for match in self.whole.all if match.hook.namespaces.matches(labels)])
        self._chosen[namespace] = (labels, choice)
        return choice


class Plans:
    """Cache of plans, made from the configurations on demand."""

    def __init__(self, configurations: Configurations[Configuration]) -> None:
        self._configurations = configurations
        self._known: dict[tuple[str, str, str, str, str], WebhookPlan] = {}

    def forget(self) -> None:
        """Drop all plans, since configurations or resources have changed."""
        self._known.clear()

    def of(self, attributes: Attributes) -> WebhookPlan:
        """Return the plan of a write."""
        resource, subresource = attributes.resource, attributes.subresource
        key = (attributes.operation, resource.plural, resource.version, resource.group, subresource)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_PLANS:
                self._known.clear()
            found = self._known[key] = self._made(attributes)
        return found

    def _made(self, attributes: Attributes) -> WebhookPlan:
        resource, operation, subresource = attributes.resource, attributes.operation, attributes.subresource
        others = other_versions(attributes)
        matches: list[Match] = []
        for hook in in_call_order(self._configurations.all, resource.plural):
            seen_as = _seen_as(hook, operation, resource, others, subresource)
            if seen_as is not None:
                matches.append(Match(hook, seen_as, len(matches)))
        return WebhookPlan(matches)


def _seen_as(
    hook: Hook, operation: str, resource: ResourceType, others: Sequence[ResourceType], subresource: str
) -> ResourceType | None:
    """Return the resource through which a webhook sees the write, or None if its rules do not match.

    That is the requested one if a rule matches it, else, with matchPolicy Equivalent, the first other one that a rule
    matches.
    """
    if any(rule.matches(operation, resource, subresource) for rule in hook.rules):
        return resource
    if not hook.equivalent:
        return None
    found = (each for rule in hook.rules for each in others if rule.matches(operation, each, subresource))
    return next(found, None)


def other_versions(attributes: Attributes) -> tuple[ResourceType, ...]:
    """Return the other versions of a write's resource that have its sub-resource."""
    own, subresource = attributes.resource.api_version, attributes.subresource
    return tuple(
        each
        for each in attributes.equivalents().values()
        if each.api_version != own
        and (not subresource or any(sub.name == subresource for sub in each.subresources))
    )


def labels_of(obj: Mapping[str, object] | None) -> Mapping[str, str] | None:
    """Return the labels of an object; None if it cannot have any."""
    meta = None if obj is None else obj.get("metadata")
    return meta.get("labels") or {} if isinstance(meta, dict) else None
