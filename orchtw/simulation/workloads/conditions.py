"""Conditions of workloads: a list with at most one of each type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object


def find(status: Object, kind: str) -> Object | None:
    """Return the condition of that type, or None."""
    return next((each for each in status.get("conditions") or () if each["type"] == kind), None)


def without(conditions: Sequence[Object], kind: str) -> list[Object]:
    """Return the conditions but that of one type."""
    return [each for each in conditions if each["type"] != kind]


def condition(kind: str, value: str, reason: str, message: str, now: float) -> Object:
    """Return a condition that became `value` (True, False, Unknown) `now`, in seconds since the epoch."""
    made = {"type": kind, "status": value, "lastTransitionTime": rfc3339(int(now)), "reason": reason}
    return {**made, "message": message} if message else made


def same(one: Any, other: Any) -> bool:
    """Report whether two parts of objects mean the same: what is empty, zero or false may be absent."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(key), other.get(key)) for key in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or not (one or other))
