"""Propagation policies of deletions, as finalizers for the garbage collector (reference DEL-5)."""

from __future__ import annotations

from orchtw.registry.write import Write
from orchtw.rules.delete_options import DeleteOptions

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

_FINALIZERS = {"Orphan": ORPHAN, "Foreground": FOREGROUND}


def deletion_finalizers(write: Write, options: DeleteOptions, present: list[str]) -> list[str]:
    """Return the finalizers of an object, `present` so far, after applying the policy of its deletion."""
    resource, traits = write.target.resource, write.target.strategy.traits
    policy = options.propagation or _from_orphan_dependents(options.orphan_dependents)
    if not traits.collected:
        policy = "Background"
    chosen = ORPHAN in present or FOREGROUND in present
    if not policy and not chosen and resource.version in traits.orphans_in:
        policy = "Orphan"
    if not policy:
        return present
    wanted = _FINALIZERS.get(policy)
    kept = [finalizer for finalizer in present if finalizer not in (ORPHAN, FOREGROUND) or finalizer == wanted]
    return kept if wanted is None or wanted in kept else [*kept, wanted]


def _from_orphan_dependents(orphan: bool | None) -> str:
    """Return the policy that the deprecated `orphanDependents` stands for."""
    return "" if orphan is None else "Orphan" if orphan else "Background"
