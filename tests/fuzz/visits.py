"""Requests with a connection of their own: watches that are soon left, and bytes that are hardly a request."""

from __future__ import annotations

import time

import orjson

from bench.http1 import Endpoint
from orchtw.schema.codec.wire import fields_of
from tests.fuzz.answers import Answer, WireError, decoded
from tests.fuzz.case import Case
from tests.fuzz.checks import problems
from tests.fuzz.connection import Connection
from tests.fuzz.surface import Surface

_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
LIMIT_S = 60.0


class Visit:
    """One connection for one case. `answer` is there when the server answered at all."""

    def __init__(self, endpoint: Endpoint, case: Case, audit_id: str, surface: Surface) -> None:
        self.case = case
        self.audit_id = audit_id
        self.code = 0
        self._surface = surface
        self._body = b""
        self._headers: dict[str, str] = {}
        self._began = time.monotonic()
        self._until = self._began + case.patience_s
        self.connection = Connection(endpoint)
        self.connection.send(case, audit_id)

    def advance(self) -> list[str] | None:
        """Read on; None while there is more to wait for, then everything that is wrong."""
        self.connection.read()
        now = time.monotonic()
        try:
            found = self._raw(now) if self.case.raw else self._stream(now)
        except (WireError, ValueError) as error:
            found = [f"not HTTP: {error}"]
        if found is not None:
            self.connection.close()
        return found

    def _raw(self, now: float) -> list[str] | None:
        if not self.connection.closed and now < self._until:
            return None
        found = []
        while (answer := self.connection.responses.next()) is not None:
            self.code = answer.code
            if answer.code == 500:
                found.append(f"500: {answer.body[:200]!r}")
        return found

    def _stream(self, now: float) -> list[str] | None:
        responses = self.connection.responses
        head = responses.head()
        if head is None:
            if self.connection.closed:
                return ["closed without an answer"]
            return [f"no answer in {LIMIT_S:.0f} s"] if now > self._began + LIMIT_S else None
        self.code, self._headers = head
        if self.code != 200 or "chunked" not in self._headers.get("transfer-encoding", ""):
            answer = responses.next()
            return None if answer is None else self._whole(answer)
        self._body += responses.stream()
        return None if now < self._until and not self.connection.closed else self._frames()

    def _whole(self, answer: Answer) -> list[str]:
        return problems(self.case, self.audit_id, answer, self._surface)[0]

    def _frames(self) -> list[str]:
        """Return the faults of the events so far."""
        if self._headers.get("audit-id") != self.audit_id:
            return [f"the stream's Audit-Id is {self._headers.get('audit-id')!r}"]
        if self._headers.get("content-encoding"):
            return []
        json = self._headers.get("content-type", "").startswith("application/json")
        try:
            return self._lines() if json else self._envelopes()
        except Exception as error:  # whatever a parser says: an event cannot be read
            return [f"an event cannot be read: {type(error).__name__}: {error}"]

    def _lines(self) -> list[str]:
        whole = self._body[: self._body.rfind(b"\n") + 1]
        return [text for line in whole.splitlines() if (text := _wrong_type(orjson.loads(line)["type"]))]

    def _envelopes(self) -> list[str]:
        """Frames of Protobuf: a length of four bytes, then a WatchEvent, with an envelope inside."""
        found, at = [], 0
        while at + 4 <= len(self._body):
            size = int.from_bytes(self._body[at : at + 4], "big")
            if len(self._body) < at + 4 + size:
                break
            event = dict(fields_of(self._body[at + 4 : at + 4 + size]))
            found.append(_wrong_type(bytes(event[1]).decode()))
            decoded(bytes(dict(fields_of(bytes(event[2])))[1]), self._surface.codecs)
            at += 4 + size
        return [text for text in found if text]


def _wrong_type(event_type: str) -> str:
    return "" if event_type in _EVENTS else f"no event: {event_type!r}"
