"""Policies of namespaces, read from each set of labels once."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Final

from orchtw.admission.plugins.pod_security.policy import Labels, NamespacePolicy
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT

KEPT: Final = 4096
"""Limit of namespaces with a cached policy."""


class NamespacePolicies:
    """`Lister` of the policies of namespaces; in the cache, labels that are unchanged are the same object."""

    def __init__(self, targets: Targets, labels: Labels) -> None:
        self._stored = targets.stored_target("", "v1", "namespaces").stored
        self._labels = labels
        self._known: dict[str, tuple[Mapping[str, str], NamespacePolicy]] = {}

    def due(self) -> Awaitable[None] | None:
        """Return what to await before an object counts as missing, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def get(self, namespace: str, name: str) -> NamespacePolicy | None:
        """Return the policy of a namespace, or None if it does not exist."""
        entry = self._stored.get(namespace, name)
        if entry is None:
            return None
        known = self._known.get(name)
        if known is not None and known[0] is entry.labels:
            return known[1]
        if len(self._known) >= KEPT:
            self._known.clear()
        policy = self._labels.read(entry.labels)
        self._known[name] = entry.labels, policy
        return policy
