"""The policies there are, each read once for each of its versions."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Final

from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy, policy
from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry

KEPT: Final = 1024
"""Policies that are kept decoded."""


class Policies:
    """Those of the cache."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._stored = targets.stored_target("policy", "v1beta1", "podsecuritypolicies").stored
        self._naming = naming
        self._known: dict[str, tuple[Entry, SecurityPolicy]] = {}

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a policy counts as missing, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def sorted(self, first: str = "") -> Iterator[SecurityPolicy]:
        """All that can be kept to, by name but for `first`."""
        entries = list(self._stored.cache.snapshot())
        entries.sort(key=lambda entry: (entry.name != first, entry.name))
        return (found for found in map(self._read, entries) if found.usable)

    def _read(self, entry: Entry) -> SecurityPolicy:
        known = self._known.get(entry.name)
        if known is None or known[0] is not entry:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[entry.name] = entry, policy(self._stored.load(entry), self._naming)
        return known[1]
