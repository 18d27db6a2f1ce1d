"""The policies of namespaces, read off their labels once for each set of labels."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Final

from orchtw.admission.plugins.pod_security.policy import Labels, NamespacePolicy
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT

KEPT: Final = 4096
"""Namespaces whose policy is remembered."""


class NamespacePolicies:
    """Looks namespaces up in their cache, in which the same labels are the same object."""

    def __init__(self, targets: Targets, labels: Labels) -> None:
        self._stored = targets.stored_target("", "v1", "namespaces").stored
        self._labels = labels
        self._known: dict[str, tuple[Mapping[str, str], NamespacePolicy]] = {}

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a namespace counts as missing, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def find(self, namespace: str) -> NamespacePolicy | None:
        """Return the policy of the namespace, or None if it does not exist."""
        entry = self._stored.get("", namespace)
        if entry is None:
            return None
        known = self._known.get(namespace)
        if known is not None and known[0] is entry.labels:
            return known[1]
        if len(self._known) >= KEPT:
            self._known.clear()
        policy = self._labels.read(entry.labels)
        self._known[namespace] = entry.labels, policy
        return policy
