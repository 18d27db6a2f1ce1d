"""Rules of a Job for its failed pods: which of them count, and which fail the whole Job or one index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from orchtw.wire.objects import Object

FAIL_JOB: Final = "FailJob"
FAIL_INDEX: Final = "FailIndex"
IGNORE: Final = "Ignore"


class Match(msgspec.Struct, frozen=True):
    """The action of the first rule that a failed pod meets, and what it met."""

    action: str
    message: str


def match(policy: Object | None, pod: Object) -> Match | None:
    """Return what the policy says about a failed pod; None: it counts as any other."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        met = _met_code(codes, pod) if codes else _met_condition(patterns, pod)
        if met is not None:
            return Match(rule["action"], f"{met} matching {rule['action']} rule at index {number}")
    return None


def _met_code(wanted: Object, pod: Object) -> str | None:
    meta, values = pod["metadata"], wanted.get("values") or ()
    for name, code in _exit_codes(pod):
        if code and wanted.get("containerName") in (None, "", name):
            if (code in values) == (wanted["operator"] == "In"):
                return f"Container {name} for pod {meta['namespace']}/{meta['name']} failed with exit code {code}"
    return None


def _exit_codes(pod: Object) -> Iterator[tuple[str, int]]:
    status = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(field) or ():
            ended = (each.get("state") or {}).get("terminated")
            if ended is not None:
                yield each["name"], ended.get("exitCode") or 0


def _met_condition(patterns: object, pod: Object) -> str | None:
    meta = pod["metadata"]
    conditions = {each["type"]: each["status"] for each in (pod.get("status") or {}).get("conditions") or ()}
    for pattern in patterns if isinstance(patterns, list) else ():
        if conditions.get(pattern["type"]) == (pattern.get("status") or "True"):
            return f"Pod {meta['namespace']}/{meta['name']} has condition {pattern['type']}"
    return None
