"""Conditions of a namespace that show the progress of its deletion (reference CTRL-11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from orchtw.client.interface import Resource

DISCOVERY = "NamespaceDeletionDiscoveryFailure"
PARSING = "NamespaceDeletionGroupVersionParsingFailure"
CONTENT = "NamespaceDeletionContentFailure"
REMAINING = "NamespaceContentRemaining"
FINALIZERS = "NamespaceFinalizersRemaining"

_INCOMPLETE = "unable to retrieve the complete list of server APIs"

# Of each condition, in the order in which they are written: reason and message when all is well; {} is what the
# vocabulary calls the types without a group.
_WELL = {
    DISCOVERY: ("ResourcesDiscovered", "All resources successfully discovered"),
    PARSING: ("ParsedGroupVersions", "All {} successfully parsed"),
    CONTENT: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    REMAINING: ("ContentRemoved", "All content successfully removed"),
    FINALIZERS: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Progress(msgspec.Struct):
    """The outcome of one round of deleting a namespace's content.

    `discovery_failures` has the errors of group versions that could not be listed; `remaining` counts objects by
    resource, `finalizers` objects by finalizer.
    """

    discovery_failures: Mapping[str, str] = msgspec.field(default_factory=dict)
    failures: list[str] = msgspec.field(default_factory=list)
    remaining: dict[Resource, int] = msgspec.field(default_factory=dict)
    finalizers: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def done(self) -> bool:
        """Report whether nothing is left, and nothing may have been overlooked."""
        return not (self.remaining or self.failures or self.discovery_failures)

    def problems(self) -> dict[str, tuple[str, str]]:
        """Return reason and message of every condition that is true."""
        out = {}
        if self.discovery_failures:
            text = ", ".join(sorted(f"{part}: {why}" for part, why in self.discovery_failures.items()))
            count = len(self.discovery_failures)
            message = f"Discovery failed for some groups, {count} failing: {_INCOMPLETE}: {text}"
            out[DISCOVERY] = ("DiscoveryFailed", message)
        if self.failures:
            text = ", ".join(sorted(self.failures))
            message = f"Failed to delete all resource types, {len(self.failures)} remaining: {text}"
            out[CONTENT] = ("ContentDeletionFailed", message)
        if self.remaining:
            counts = sorted(f"{r.plural}.{r.group} has {n} resource instances" for r, n in self.remaining.items())
            out[REMAINING] = ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(counts)}")
        if self.finalizers:
            counts = sorted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            message = f"Some content in the namespace has finalizers remaining: {', '.join(counts)}"
            out[FINALIZERS] = ("SomeFinalizersRemain", message)
        return out


def conditions(
    present: Sequence[Mapping[str, Any]], problems: Mapping[str, tuple[str, str]], time: str, legacy_types: str
) -> list[dict[str, Any]] | None:
    """Return the conditions that follow on the `present` ones, or None if nothing changes.

    `time` is the transition time of a changed status; `legacy_types` is a name (see `Naming`).
    """
    known = {each["type"]: each for each in present}
    changed = False
    for name, (well, all_well) in _WELL.items():
        status = "True" if name in problems else "False"
        reason, message = problems.get(name) or (well, all_well.format(legacy_types))
        old = known.get(name)
        if old and (old["status"], old.get("reason"), old.get("message")) == (status, reason, message):
            continue
        changed = True
        since = old.get("lastTransitionTime", time) if old and old["status"] == status else time
        known[name] = {
            "type": name, "status": status, "lastTransitionTime": since, "reason": reason, "message": message
        }
    return [dict(each) for each in known.values()] if changed else None
