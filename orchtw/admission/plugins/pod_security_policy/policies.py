"""Lister of the PodSecurityPolicies."""

from __future__ import annotations

from collections.abc import Iterator

from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy, policy
from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.targets import Targets


class Policies(CachedLister[SecurityPolicy]):
    """Lister of policies, with one of them first if wanted."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        stored = targets.stored_target("policy", "v1beta1", "podsecuritypolicies").stored
        super().__init__(stored, lambda stored, entry: policy(stored.load(entry), naming))

    def sorted(self, first: str = "") -> Iterator[SecurityPolicy]:
        """Return the usable policies: `first`, then the others by name."""
        found = sorted(self.list(), key=lambda each: each.name != first)
        return (each for each in found if each.usable)
