"""The conditions of definitions: what is known of each, and since when (reference CRD-7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"

Condition = Mapping[str, Any]


@attrs.frozen(slots=True)
class Finding:
    """What a condition is to say; when it began to is for `with_condition` to keep."""

    type: str
    holds: bool
    reason: str
    message: str


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of that type."""
    return next((each for each in conditions if each["type"] == kind), None)


def holds(conditions: Iterable[Condition], kind: str) -> bool:
    """Whether the condition of that type is there and True."""
    found = find(conditions, kind)
    return found is not None and found["status"] == "True"


def with_condition(conditions: Iterable[Condition], finding: Finding, now: str) -> list[Condition]:
    """The conditions with one that says so, since `now` (RFC 3339) unless it did before."""
    status = "True" if finding.holds else "False"
    told = []
    since = now
    for each in conditions:
        if each["type"] != finding.type:
            told.append(each)
            continue
        if each["status"] == status:
            since = each.get("lastTransitionTime") or now
        told.append(_condition(finding, status, since))
    if not any(each["type"] == finding.type for each in told):
        told.append(_condition(finding, status, now))
    return told


def _condition(finding: Finding, status: str, since: str) -> Condition:
    return {
        "type": finding.type,
        "status": status,
        "lastTransitionTime": since,
        "reason": finding.reason,
        "message": finding.message,
    }
