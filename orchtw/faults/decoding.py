"""Rules from JSON, strictly: unknown fields and contradictory ones are refused with a clear text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from orchtw.errors import BadRequest
from orchtw.faults.chaos import chaos
from orchtw.faults.fields import FaultFields, read_object, refused, shown
from orchtw.faults.kinds import (
    AFTER,
    BEFORE,
    BOOKMARKS,
    CUT,
    EXPIRED,
    HANGING,
    KINDS,
    LATE,
    LISTS,
    MOMENTS,
    STALE,
    STATUSES,
    THROTTLED,
    VERBS,
    WRITES,
)
from orchtw.faults.rule import FaultRule, FaultSelection
from orchtw.rules.selectors import ALL_LABELS, LabelSelector, parse_labels

MOST_WAIT_S: Final = 600.0
"""Longest wait of a request, and greatest age of a stale state in seconds."""

USUAL_HANG_S: Final = 60.0
MOST_RETRY_AFTER_S: Final = 3600
MOST_COUNT: Final = 1_000_000_000
MOST_SEED: Final = (1 << 53) - 1
"""Largest seed: JSON numbers beyond it are not exact in every language."""

CHAOS: Final = "chaos"

_PLACES: Final = ("user", "group", "resource", "namespace")
_SELECTION: Final = (*_PLACES, "verb", "subresource", "name", "labels")
_PARAMETERS: Final = ("message", "retryAfterSeconds", "seconds", "revisions", "inStream", "afterEvents", "when")
_COUNTING: Final = ("times", "after", "probability", "seed", "gap")
RULE_FIELDS: Final = ("fault", "status", *_SELECTION, *_PARAMETERS, *_COUNTING)
_PRESET: Final = ("preset", "seed", *_PLACES)

_PLURAL: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_GROUP: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")

Seeds = Callable[[], int]


def rules_of(body: bytes, seeds: Seeds) -> Sequence[FaultRule]:
    """Return the rule in a JSON body, or the rules of its preset. Raises BadRequest (400).

    `seeds` returns seeds for rules with a probability that name none.
    """
    sent = read_object(body)
    if "preset" not in sent:
        return (_rule(FaultFields(sent, RULE_FIELDS), seeds),)
    fields = FaultFields(sent, _PRESET)
    fields.choice("preset", (CHAOS,))
    seed = fields.integer("seed", 0, MOST_SEED) if "seed" in fields else seeds()
    return chaos(seed, _selection(fields, ()))


def _rule(fields: FaultFields, seeds: Seeds) -> FaultRule:
    kind, status = _kind(fields)
    _check_taken(fields, kind)
    in_stream = fields.boolean("inStream")
    when = fields.choice("when", MOMENTS, BEFORE)
    verbs = _verbs(fields, kind, in_stream=in_stream, when=when)
    probability = fields.number("probability", 1.0, 1.0)
    if "seed" in fields and probability == 1:
        raise refused("seed: is only for rules with a probability below 1")
    if "afterEvents" in fields and kind == EXPIRED and not in_stream:
        raise refused("afterEvents: is only for rules with inStream")
    drawn = fields.integer("seed", 0, MOST_SEED) if "seed" in fields else seeds()
    return FaultRule(
        kind=kind,
        selection=_checked(_selection(fields, verbs), kind),
        status=status,
        message=fields.text("message"),
        retry_after_s=fields.integer("retryAfterSeconds", 1, MOST_RETRY_AFTER_S, 1 if kind == THROTTLED else 0),
        seconds=_seconds(fields, kind),
        revisions=fields.integer("revisions", 1, MOST_COUNT) if "revisions" in fields else None,
        in_stream=in_stream,
        after_events=fields.integer("afterEvents", 0, MOST_COUNT),
        when=when,
        times=fields.integer("times", 1, MOST_COUNT),
        after=fields.integer("after", 0, MOST_COUNT),
        probability=probability,
        seed=drawn if probability < 1 else 0,
        gap=fields.integer("gap", 0, MOST_COUNT),
    )


def _kind(fields: FaultFields) -> tuple[str, int]:
    """Return the kind of fault and the code of its answer (0: it has none), of which one follows from the other."""
    kind = fields.choice("fault", tuple(KINDS))
    status = fields.integer("status", 0, 999)
    if not kind and not status:
        raise refused("fault or status is required")
    if not status:
        return kind, next((code for code, each in STATUSES.items() if each == kind), 0)
    if status not in STATUSES:
        raise refused(f"status: must be one of {', '.join(map(str, STATUSES))}")
    if kind and STATUSES[status] != kind:
        raise refused(f"status: {status} contradicts the fault {kind}")
    return STATUSES[status], status


def _check_taken(fields: FaultFields, kind: str) -> None:
    """Refuse parameters that mean nothing for the kind."""
    for name in _PARAMETERS:
        if name in fields and name not in KINDS[kind].takes:
            raise refused(f"{name}: is not for the fault {kind}")


def _verbs(fields: FaultFields, kind: str, *, in_stream: bool, when: str) -> tuple[str, ...]:
    """Return the verbs of the rule: the named ones, which its fault must be able to strike, or the usual ones."""
    possible, usual = KINDS[kind].verbs, KINDS[kind].usual
    if in_stream:
        possible = usual = ("watch",)
    if when == AFTER:
        possible = WRITES
    verbs = fields.texts("verb")
    for verb in verbs:
        if verb not in VERBS:
            raise refused(f"verb: {shown(verb)} is not one of {', '.join(VERBS)}")
        if verb not in possible:
            raise refused(f"verb: the fault {kind} cannot strike {verb} here, only {', '.join(possible)}")
    return verbs or usual


def _selection(fields: FaultFields, verbs: tuple[str, ...]) -> FaultSelection:
    resources = fields.texts("resource")
    for each in resources:
        if "." in each:
            raise refused(f"resource: {shown(each)} contains a dot; put the part after it into group")
    return FaultSelection(
        users=fields.texts("user"),
        verbs=verbs,
        groups=fields.texts("group", pattern=_GROUP, empty=True),
        resources=fields.texts("resource", pattern=_PLURAL),
        subresources=fields.texts("subresource", pattern=_PLURAL, empty=True),
        namespaces=fields.texts("namespace", empty=True),
        names=fields.texts("name"),
        labels=_labels(fields),
    )


def _labels(fields: FaultFields) -> LabelSelector:
    text = fields.text("labels")
    try:
        return parse_labels(text) if text else ALL_LABELS
    except BadRequest as error:
        raise refused(f"labels: {error.message}") from None


def _checked(selection: FaultSelection, kind: str) -> FaultSelection:
    """Return the selection; refuse one that can select nothing that the fault strikes."""
    if not selection.labels.empty and all(verb in (*LISTS, "deletecollection") for verb in selection.verbs):
        raise refused("labels: match requests for one object only, not lists, watches or deletecollections")
    if kind in (CUT, BOOKMARKS, STALE, EXPIRED) and any(selection.subresources):
        raise refused(f"subresource: the fault {kind} strikes objects and collections only")
    return selection


def _seconds(fields: FaultFields, kind: str) -> float | None:
    if "seconds" in fields:
        if "revisions" in fields:
            raise refused("seconds and revisions cannot both be given")
        return fields.number("seconds", MOST_WAIT_S, MOST_WAIT_S)
    if kind == LATE:
        raise refused("seconds: is required for the fault late")
    return USUAL_HANG_S if kind == HANGING else None
