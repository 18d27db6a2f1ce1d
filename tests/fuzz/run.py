"""One run against one server: keeps its connections busy, checks every answer, reads back what was stored."""

from __future__ import annotations

import select
import time
from collections import Counter, deque
from random import Random
from typing import Any

from attrs import define, field

from bench.http1 import Endpoint
from tests.fuzz.answers import Answer, WireError
from tests.fuzz.audit import Auditor, Log
from tests.fuzz.case import Case
from tests.fuzz.cases import Cases
from tests.fuzz.checks import object_path, problems
from tests.fuzz.connection import Connection, Sent
from tests.fuzz.findings import Finding, signature_of, signature_of_exception, signature_of_failure
from tests.fuzz.surface import Surface
from tests.fuzz.visits import Visit

CONNECTIONS = 10
DEPTH = 3
"""Requests under way on one connection at a time, at the most."""
VISITS = 6
ANSWER_LIMIT_S = 60.0  # nothing takes a second; a machine may be busy with other things
AUDIT_EVERY = 5000
MAX_FINDINGS = 30
_REMEMBERED = 12
_TIMEOUT = 504


@define
class Totals:
    """Figures of a run."""

    codes: Counter[int] = field(factory=Counter)
    stored: int = 0
    longest_s: float = 0.0
    sent: int = 0


@define(frozen=True)
class ReadBack:
    """A read that must show `expected`, unless somebody has written since."""

    case: Case
    expected: Any
    audit_id: str


class Run:
    """Sends `total` requests in all: those of the seed, and the reads after each write."""

    def __init__(self, endpoint: Endpoint, surface: Surface, cases: Cases, log: Log, total: int) -> None:
        self.totals = Totals()
        self.findings: dict[str, Finding] = {}
        self._endpoint = endpoint
        self._surface = surface
        self._cases = cases
        self._log = log
        self._total = total
        self._label = cases.label
        self._kept = next(cases.kept, None)
        self._number = 0
        self._connections: list[Connection] = []
        self._visits: list[Visit] = []
        self._again: deque[tuple[Case, str]] = deque()
        self._reading: dict[str, ReadBack] = {}
        self._history: dict[str, deque[Case]] = {}
        self._failed: set[str] = set()
        self._auditor = Auditor(endpoint, surface)
        self._poll = select.poll()

    def run(self) -> None:
        """Until all is sent and answered, or too much is wrong."""
        audit_at = AUDIT_EVERY
        while self.totals.sent < self._total or self._busy:
            self._fill()
            self._turn()
            if self.totals.sent >= audit_at or (not self._busy and self.totals.sent >= self._total):
                audit_at = self.totals.sent + AUDIT_EVERY
                self._audit()
            if len(self.findings) >= MAX_FINDINGS:
                break
        for connection in self._connections:
            connection.close()

    @property
    def _busy(self) -> bool:
        return bool(self._again or self._visits) or any(each.under_way for each in self._connections)

    # Sending

    def _fill(self) -> None:
        """Give every connection something to do."""
        while len(self._connections) < CONNECTIONS:
            connection = Connection(self._endpoint)
            self._connections.append(connection)
            self._poll.register(connection, select.POLLIN)
        for connection in self._connections:
            while len(connection.under_way) < DEPTH and not connection.wants_write:
                following = self._next()
                if following is None:
                    return
                case, audit_id = following
                if case.raw or case.streams:
                    self._visits.append(Visit(self._endpoint, case, audit_id, self._surface))
                else:
                    connection.send(case, audit_id)
            if connection.wants_write:
                self._poll.modify(connection, select.POLLIN | select.POLLOUT)

    def _next(self) -> tuple[Case, str] | None:
        """The next request and its audit id; None: nothing for now."""
        if len(self._visits) >= VISITS:
            return None
        if self._again:
            return self._again.popleft()
        if self.totals.sent >= self._total:
            return None
        if self._kept is not None:
            if self._busy:
                return None  # kept requests build on each other
            case, self._kept = self._kept, next(self._cases.kept, None)
            self.totals.sent += 1
            return case, f"{self._label}-kept-{self.totals.sent}"
        self.totals.sent += 1
        number, self._number = self._number, self._number + 1
        return self._cases.case(number), f"{self._label}-{number}"

    # Receiving

    def _turn(self) -> None:
        """Take what has come, and look for what has not."""
        ready = dict(self._poll.poll(5 if self._visits else 100))
        for connection in list(self._connections):
            if connection.fileno() in ready:
                connection.flush()
                connection.read()
                if not connection.wants_write:
                    self._poll.modify(connection, select.POLLIN)
                self._answers(connection)
            elif connection.under_way and time.monotonic() - connection.under_way[0].since > ANSWER_LIMIT_S:
                self._found(f"no answer in {ANSWER_LIMIT_S:.0f} s", connection.under_way[0])
                connection.under_way.popleft()
                self._drop(connection)
        for visit in list(self._visits):
            found = visit.advance()
            if found is not None:
                self._visits.remove(visit)
                self.totals.codes[visit.code] += 1
                for text in found:
                    self._found(text, Sent(visit.case, visit.audit_id, 0.0))

    def _answers(self, connection: Connection) -> None:
        try:
            while (answer := connection.responses.next()) is not None:
                if not connection.under_way:
                    self._found(f"an answer to nothing: {answer}", Sent(Case(), self._label, 0.0))
                    break
                self._answered(connection.answered(), answer)
                if answer.last:
                    connection.closed = True
                    break
        except (WireError, ValueError, OSError) as error:
            self._found(f"not HTTP: {error}", connection.answered())
            connection.closed = True
        if connection.closed:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        """Let a connection go; what it still had to ask is asked again on another."""
        if connection.under_way and connection.responses.mid:
            self._found("closed in the middle of an answer", connection.answered())
        self._again.extend((sent.case, sent.audit_id) for sent in connection.under_way)
        self._poll.unregister(connection)
        self._connections.remove(connection)
        connection.close()

    def _answered(self, sent: Sent, answer: Answer) -> None:
        took_s = time.monotonic() - sent.since
        self.totals.codes[answer.code] += 1
        if answer.code != _TIMEOUT:
            self.totals.longest_s = max(self.totals.longest_s, took_s)
        found, value = problems(sent.case, sent.audit_id, answer, self._surface)
        for text in found:
            self._found(text, sent)
        reading = self._reading.pop(sent.audit_id, None)
        if reading is not None:
            self._compare(reading, value, sent)
        elif answer.code in (200, 201) and sent.case.writes:
            self._remember(sent.case)
            self._read_back(sent.audit_id, value)

    # Reading back

    def _read_back(self, audit_id: str, value: Any) -> None:
        """After a write: the object in JSON and in Protobuf."""
        path = object_path(value, self._surface)
        if not path:
            return
        self.totals.stored += 1
        for form in ("application/json", self._surface.naming.protobuf_media_type):
            reading = ReadBack(Case(target=path, headers={"Accept": form}), value, f"{audit_id}-{form[-4:]}")
            self._reading[reading.audit_id] = reading
            self._again.append((reading.case, reading.audit_id))
            self.totals.sent += 1

    def _compare(self, reading: ReadBack, value: Any, sent: Sent) -> None:
        if not object_path(value, self._surface):
            return  # somebody deleted it
        expected = reading.expected
        same = value["metadata"]["resourceVersion"] == expected["metadata"]["resourceVersion"]
        if same and value != expected:
            self._found(f"stored and read differ: {difference(expected, value, '')}", sent)

    # Findings

    def _audit(self) -> None:
        for text in self._auditor.pages(Random(f"{self._label}{self.totals.sent}")):
            self._found(text, Sent(Case(), self._label, 0.0))
        for entry in self._log.trouble(self._failed):
            signature = signature_of_exception(entry)
            if signature not in self.findings:
                self._note(Finding(f"logged: {entry}", signature, self._label, Case()))

    def _found(self, what: str, sent: Sent) -> None:
        signature = ""
        if what.startswith("500"):
            self._failed.add(sent.audit_id)
            signature = signature_of_failure(self._log.text, sent.audit_id)
        signature = signature or signature_of(what, sent.case)
        if signature not in self.findings:
            before = tuple(self._history.get(_plural(sent.case.path), ()))
            self._note(Finding(what, signature, sent.audit_id, sent.case, before))

    def _note(self, finding: Finding) -> None:
        self.findings[finding.signature] = finding
        print(finding.text(), flush=True)

    def _remember(self, case: Case) -> None:
        """Keep a successful write: a later request may fail on what it left."""
        self._history.setdefault(_plural(case.path), deque(maxlen=_REMEMBERED)).append(case)


def _plural(path: str) -> str:
    """The resource that a path is about, whatever the version and the namespace."""
    parts = [part for part in path.split("/") if part][2 if path.startswith("/api/") else 3 :]
    return parts[2] if len(parts) > 2 and parts[0] == "namespaces" else parts[0] if parts else ""


def difference(left: Any, right: Any, place: str) -> str:
    """The first place where two values differ, and both values there."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in {**left, **right}:
            if left.get(key) != right.get(key) or (key in left) is not (key in right):
                return difference(left.get(key, "(absent)"), right.get(key, "(absent)"), f"{place}.{key}")
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            if one != other:
                return difference(one, other, f"{place}[{index}]")
    return f"{place}: {str(left)[:300]} / {str(right)[:300]}"
