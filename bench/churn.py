"""Writes of every kind to a collection that stays as large as it is, and what its watchers must see of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from bench.bodies import numbered, sequence_patch
from bench.http1 import GOOD, JSON, BenchError, Connection
from bench.session import Bench
from bench.subjects import Subject

MERGE_PATCH = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
KINDS = {"configmaps": "ConfigMap", "pods": "Pod"}
PREFIX = "churn"
PATCHED_AFTER = 5  # objects later
APPLIED_AFTER = 10
DELETED_AFTER = 40


class Seen(NamedTuple):
    """An event, as far as it is compared: its type and its object's name."""

    kind: str
    name: str


class Churn:
    """One writer of one collection, which nobody else writes: its events come in the order of its writes."""

    def __init__(self, bench: Bench, subject: Subject, path: str) -> None:
        self.path = path
        self.expected: list[Seen] = []
        self._subject = subject
        self._endpoint = bench.endpoint
        self._connection = Connection(bench.endpoint)
        self._writes = 0

    def write(self) -> None:
        """Make the next write: a creation, a patch, an apply and a deletion in turn. BenchError unless it is done."""
        number, turn = divmod(self._writes, 4)
        self._writes += 1
        if turn == 0:
            body = self._subject.template.render(numbered(PREFIX, number), number)
            self._send("ADDED", "POST", number, JSON, body)
        elif turn == 1:
            self._send("MODIFIED", "PATCH", number - PATCHED_AFTER, MERGE_PATCH, sequence_patch(number))
        elif turn == 2:
            applied = number - APPLIED_AFTER
            self._send("MODIFIED", "PATCH", applied, APPLY, self._labelled(applied, number))
        else:
            self._send("DELETED", "DELETE", number - DELETED_AFTER)

    def take_expected(self) -> list[Seen]:
        """Return the events of the writes since the last call."""
        taken, self.expected = self.expected, []
        return taken

    def close(self) -> None:
        self._connection.close()

    def _send(self, event: str, method: str, number: int, content_type: str = "", body: bytes = b"") -> None:
        if number < 0:
            return
        name = numbered(PREFIX, number)
        query = "?gracePeriodSeconds=0" if method == "DELETE" else ""
        query = "?fieldManager=churn&force=true" if content_type == APPLY else query
        path = self.path if method == "POST" else f"{self.path}/{name}{query}"
        answer = self._connection.call(self._endpoint.request(method, path, JSON, content_type, body))
        if answer.status not in GOOD:
            raise BenchError(f"{method} {path}: {answer.problem(JSON)}")
        self.expected.append(Seen(event, name))

    def _labelled(self, number: int, value: int) -> bytes:
        metadata = {"name": numbered(PREFIX, number), "labels": {"turn": f"t-{value}"}}
        return orjson.dumps({"apiVersion": "v1", "kind": KINDS[self._subject.plural], "metadata": metadata})


def differences(expected: Sequence[Seen], seen: Sequence[Seen]) -> int:
    """Return the number of events that are missing, doubled, foreign or out of place; 0 if all are as expected."""
    if list(expected) == list(seen):
        return 0
    out_of_place = sum(one != other for one, other in zip(expected, seen, strict=False))
    return max(1, out_of_place + abs(len(expected) - len(seen)))
