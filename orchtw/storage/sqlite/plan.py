"""A decided batch of writes: its rows, and the answers to its callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from twisted.internet.defer import Deferred

from orchtw import errors
from orchtw.storage.sqlite.checksum import checksum
from orchtw.storage.store import Change, KeyValue, Op, WriteOutcome

Ticket = tuple[Op, Deferred[WriteOutcome] | None]  # nobody waits for the end of a value
Answers = list[tuple[Deferred[WriteOutcome], WriteOutcome | errors.StatusError]]
Row = tuple[int, str, int, int, int, bytes | None]

FENCED: Final = -1
"""Result in place of a revision: the key of the op's guard has been written since."""


class WritePlan(msgspec.Struct, eq=False):
    """Decided batch: the rows to insert, and for each ticket the revision (0: refused, or FENCED) and the row found.

    `ends` are the revisions of expiring values with their times, `ended` those that have expired.
    """

    rows: list[Row] = msgspec.field(default_factory=list)
    given: list[int] = msgspec.field(default_factory=list)
    found: list[int] = msgspec.field(default_factory=list)
    ends: list[tuple[int, int]] = msgspec.field(default_factory=list)
    ended: list[int] = msgspec.field(default_factory=list)

def insertion(count: int) -> str:
    """Return the statement that inserts so many rows."""
    return "INSERT INTO history VALUES " + ",".join(["(?,?,?,?,?,?,?)"] * count)


def fields(rows: Sequence[Row]) -> list[int | str | bytes | None]:
    """Return the values of a statement that inserts `rows`, each with its checksum."""
    out: list[int | str | bytes | None] = []
    for row in rows:
        revision, key, created, previous, _, value = row
        out += row
        out.append(checksum(revision, key, created, previous, value))
    return out


def report(batch: list[Ticket], plan: WritePlan, known: dict[int, KeyValue]) -> tuple[list[Change], Answers]:
    """Return the changes and answers of a committed batch."""
    changes: list[Change] = []
    answers: Answers = []
    for (op, waiting), revision, held in zip(batch, plan.given, plan.found, strict=True):
        replaced = known[held] if held else None
        if revision > 0:
            changes.append(Change(revision, op.key, op.value, replaced, op.note))
            outcome = WriteOutcome(revision)
        else:
            outcome = WriteOutcome(0, None, fenced=True) if revision == FENCED else WriteOutcome(0, replaced)
        if waiting is not None:
            answers.append((waiting, outcome))
    return changes, answers
