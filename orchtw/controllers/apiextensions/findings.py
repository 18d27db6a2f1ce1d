"""Conditions of a definition apart from its names (reference CRD-7)."""

from __future__ import annotations

from typing import Final

from orchtw.controllers.apiextensions.definition import Definition
from orchtw.registry.groups.apiextensions.conditions import ESTABLISHED, TERMINATING, Finding

ESTABLISHED_NOW: Final = Finding(
    ESTABLISHED, True, "InitialNamesAccepted", "the initial names have been accepted"
)
INSTALLING: Final = Finding(ESTABLISHED, False, "Installing", "the initial names have been accepted")
NOT_ACCEPTED: Final = Finding(ESTABLISHED, False, "NotAccepted", "not all names are accepted")

IN_PROGRESS: Final = Finding(
    TERMINATING, True, "InstanceDeletionInProgress", "CustomResource deletion is in progress"
)
COMPLETED: Final = Finding(TERMINATING, False, "InstanceDeletionCompleted", "removed all instances")
NEVER_ESTABLISHED: Final = Finding(TERMINATING, False, "NeverEstablished", "resource was never established")
OVERLAPPING: Final = Finding(
    TERMINATING, False, "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
)
UNCONFIRMED: Final = Finding(
    TERMINATING,
    True,
    "InstanceDeletionCheck",
    "could not confirm zero CustomResources remaining: timed out waiting for the condition",
)


def failed(why: str) -> Finding:
    """Return the condition that not every object could be deleted."""
    return Finding(TERMINATING, True, "InstanceDeletionFailed", f"could not issue all deletes: {why}")


def establishment(definition: Definition, *, names_accepted: bool, due: bool) -> Finding | None:
    """Return the Established condition, or None to keep it True in spite of its names. `due`: every server knows."""
    if definition.established:
        return None
    if not names_accepted:
        return NOT_ACCEPTED
    return ESTABLISHED_NOW if due else INSTALLING
