"""Rules of webhooks, and the writes that they match (reference HOOK-3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from orchtw.schema.catalogue import ResourceType

EVERYTHING: Final = "*"


class WebhookRule(msgspec.Struct, frozen=True, kw_only=True):
    """Rule of a webhook. `resources` are pairs of a plural and a sub-resource, either of which may be `*`.

    An empty sub-resource is the resource itself. A sub-resource `*` matches that too: `pods/*` includes pods.
    """

    operations: Collection[str]
    groups: Collection[str]
    versions: Collection[str]
    resources: tuple[tuple[str, str], ...]
    scope: str

    def matches(self, operation: str, resource: ResourceType, subresource: str) -> bool:
        """Report whether the rule matches a write; a sub-resource has its resource's scope."""
        return (
            _holds(self.operations, operation)
            and _holds(self.groups, resource.group)
            and _holds(self.versions, resource.version)
            and self.scope in (EVERYTHING, "Namespaced" if resource.namespaced else "Cluster")
            and any(
                plural in (EVERYTHING, resource.plural) and sub in (EVERYTHING, subresource)
                for plural, sub in self.resources
            )
        )


def rule_of(spec: Mapping[str, Any]) -> WebhookRule:
    """Parse a rule of a configuration, already validated."""
    parts = (each.partition("/") for each in spec.get("resources") or ())
    return WebhookRule(
        operations=frozenset(spec.get("operations") or ()),
        groups=frozenset(spec.get("apiGroups") or ()),
        versions=frozenset(spec.get("apiVersions") or ()),
        resources=tuple((plural, sub) for plural, _, sub in parts),
        scope=spec.get("scope") or EVERYTHING,
    )


def _holds(names: Collection[str], name: str) -> bool:
    return EVERYTHING in names or name in names
