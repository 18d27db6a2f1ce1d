"""Conditions of definitions: content, and the time of the last change (reference CRD-7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
NON_STRUCTURAL: Final = "NonStructuralSchema"
APPROVAL: Final = "OrchAPIApprovalPolicyConformant"

Condition = Mapping[str, Any]


class Finding(msgspec.Struct, frozen=True):
    """Desired content of a condition; `with_condition` keeps its lastTransitionTime."""

    type: str
    holds: bool
    reason: str
    message: str

    @property
    def status(self) -> str:
        """Status of the condition, "True" or "False"."""
        return "True" if self.holds else "False"


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of that type, or None."""
    return next((each for each in conditions if each["type"] == kind), None)


def holds(conditions: Iterable[Condition], kind: str) -> bool:
    """Report whether the condition of that type is True."""
    found = find(conditions, kind)
    return found is not None and found["status"] == "True"


def is_told(conditions: Iterable[Condition], finding: Finding) -> bool:
    """Report whether a condition already has this content."""
    found = find(conditions, finding.type)
    said = None if found is None else (found["status"], found.get("reason", ""), found.get("message", ""))
    return said == (finding.status, finding.reason, finding.message)


def with_condition(conditions: Iterable[Condition], finding: Finding, now: str) -> list[Condition]:
    """Return the conditions with this one set, dated `now` (RFC 3339) unless its status was the same before."""
    told = list(conditions)
    places = [place for place, each in enumerate(told) if each["type"] == finding.type]
    before: Condition = told[places[0]] if places else {}
    since = before.get("lastTransitionTime") if before.get("status") == finding.status else None
    condition = {
        "type": finding.type,
        "status": finding.status,
        "lastTransitionTime": since or now,
        "reason": finding.reason,
        "message": finding.message,
    }
    if places:
        told[places[0]] = condition
    else:
        told.append(condition)
    return told
