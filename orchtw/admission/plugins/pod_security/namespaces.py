"""Lister of the Pod Security policies of namespaces."""

from __future__ import annotations

from typing import Final

from orchtw.admission.plugins.pod_security.policy import Labels, NamespacePolicy
from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.targets import Targets

KEPT: Final = 4096
"""Limit of namespaces with a cached policy."""


def namespace_policies(targets: Targets, labels: Labels) -> CachedLister[NamespacePolicy]:
    """Return a lister of namespaces by the policy in their labels."""
    stored = targets.stored_target("", "v1", "namespaces").stored
    return CachedLister(stored, lambda stored, entry: labels.read(entry.labels), KEPT)
