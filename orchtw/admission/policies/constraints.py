"""Constraints on the writes that a policy or a binding matches (reference POLICY-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from orchtw.admission.webhooks.rules import WebhookRule, rule_of
from orchtw.rules.selectors import ALL_LABELS, LabelSelector, selector_of_object
from orchtw.schema.catalogue import ResourceType


class NamedRule(msgspec.Struct, frozen=True):
    """Rule of resources, perhaps for objects of certain names."""

    rule: WebhookRule
    names: frozenset[str] = frozenset()

    def matches(self, operation: str, resource: ResourceType, subresource: str, name: str) -> bool:
        """Report whether the rule matches a write."""
        return (not self.names or name in self.names) and self.rule.matches(operation, resource, subresource)


class Constraints(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Constraints of a policy, or of a binding, whose `rules` may be empty: it matches what its policy does.

    `equivalent`: the matchPolicy is Equivalent. `named`: rules depend on the object's name.
    """

    rules: tuple[NamedRule, ...] = ()
    excluded: tuple[NamedRule, ...] = ()
    namespaces: LabelSelector = ALL_LABELS
    objects: LabelSelector = ALL_LABELS
    equivalent: bool = True

    @property
    def named(self) -> bool:
        """Report whether the result depends on the name of an object."""
        return any(rule.names for rule in (*self.rules, *self.excluded))

    @property
    def of_any_name(self) -> Constraints:
        """Return constraints that match, for any name, whatever these match for some name."""
        return msgspec.structs.replace(
            self,
            rules=tuple(NamedRule(rule.rule) for rule in self.rules),
            excluded=tuple(rule for rule in self.excluded if not rule.names),
        )

    def seen_as(
        self,
        operation: str,
        resource: ResourceType,
        others: Sequence[ResourceType],
        subresource: str,
        name: str,
    ) -> ResourceType | None:
        """Return the resource through which a write is seen, or None if the rules do not match it.

        That is the requested one if a rule matches it, else, with matchPolicy Equivalent, the first of the `others`
        that a rule matches.
        """
        among = (resource, *others) if self.equivalent else (resource,)
        for rule in self.excluded:
            if any(rule.matches(operation, each, subresource, name) for each in among):
                return None
        if not self.rules:
            return resource
        if any(rule.matches(operation, resource, subresource, name) for rule in self.rules):
            return resource
        found = (
            each for rule in self.rules for each in among[1:] if rule.matches(operation, each, subresource, name)
        )
        return next(found, None)


ALL_WRITES = Constraints()
"""Constraints that every write meets."""


def constraints_of(match: Mapping[str, Any] | None) -> Constraints:
    """Parse the matchConstraints or matchResources of a stored object. Raises BadRequest (400)."""
    if match is None:
        return ALL_WRITES
    return Constraints(
        rules=_rules(match.get("resourceRules")),
        excluded=_rules(match.get("excludeResourceRules")),
        namespaces=selector_of_object(match.get("namespaceSelector") or {}),
        objects=selector_of_object(match.get("objectSelector") or {}),
        equivalent=match.get("matchPolicy") != "Exact",
    )


def _rules(given: Sequence[Mapping[str, Any]] | None) -> tuple[NamedRule, ...]:
    return tuple(NamedRule(rule_of(each), frozenset(each.get("resourceNames") or ())) for each in given or ())
