"""Replay: repeats the writes of an export on another server, in their order and at their pace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Final

import msgspec

from orchtw.errors import ConfigError
from orchtw.exports.client import Pace, ServerAnswer, object_name
from orchtw.exports.export_file import WRITES
from orchtw.exports.writing import CREATED, EXISTS, FOUND, GONE, WITHHELD, ExportWriter, is_withheld
from orchtw.wire.objects import Object

SUBRESOURCES: Final = frozenset({"status", "approval"})
"""Sub-resources that take the whole object; writes of others are repeated on the object itself."""

PATIENCE_S: Final = 3.0
"""Seconds for which a creation is retried: new definitions and the accounts of new namespaces take a moment."""

_LOOK_S: Final = 0.05
_TOO_EARLY: Final = (403, GONE)
_DELETES: Final = ("delete", "deletecollection")
_ACCEPTED: Final = 202


class Replayed(msgspec.Struct):
    """Numbers of writes: repeated, left out, and refused; `complaints` are about refused ones and those of Secrets.

    Others that are left out are the server's own controllers' to make, or not asked for.
    """

    written: int = 0
    skipped: int = 0
    failed: int = 0
    complaints: list[str] = msgspec.field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.written} writes replayed, {self.skipped} skipped, {self.failed} refused"


class Replay(msgspec.Struct, frozen=True, eq=False):
    """Replay of records. `speed` is how many seconds pass in one; `users`, if there are any, are those to repeat.

    `show` is called with each record before it is written, `complain` with a line about each refusal.
    """

    writer: ExportWriter
    pace: Pace
    speed: float
    users: Collection[str]
    show: Callable[[Object], None]
    complain: Callable[[str], None]

    async def run(self, records: Iterable[Object]) -> Replayed:
        """Repeat the writes among records. The server's own writes are left to the server. Raises ConfigError."""
        result = Replayed()
        began, first_s = self.pace.seconds(), None
        for record in records:
            if record["type"] not in WRITES:
                continue
            if not record.get("auditID") or (self.users and record.get("user") not in self.users):
                result.skipped += 1
                continue
            if record["type"] != "DELETED" and is_withheld(record["object"]):
                result.skipped += 1
                self._refuse(result, record, WITHHELD)
                continue
            at_s = _seconds(record["time"])
            first_s = at_s if first_s is None else first_s
            wait_s = began + (at_s - first_s) / self.speed - self.pace.seconds()
            if wait_s > 0:
                await self.pace.sleep(wait_s)
            self.show(record)
            answer = await self._repeated(record)
            if answer.code in (CREATED, FOUND, _ACCEPTED):
                result.written += 1
            else:
                result.failed += 1
                self._refuse(result, record, answer.message)
        return result

    def _refuse(self, result: Replayed, record: Object, why: str) -> None:
        result.complaints.append(f"revision {record['revision']}: {object_name(record)}: {why}")
        self.complain(result.complaints[-1])

    async def _repeated(self, record: Object) -> ServerAnswer:
        """Make the write of a record. A creation may be ahead of what the server's controllers make for it."""
        until = self.pace.seconds() + PATIENCE_S
        answer = await self._repeat(record)
        while record["type"] == "ADDED" and answer.code in _TOO_EARLY and self.pace.seconds() < until:
            await self.pace.sleep(_LOOK_S)
            answer = await self._repeat(record)
        return answer

    async def _repeat(self, record: Object) -> ServerAnswer:
        """Make the write of a record; an object that is already present is replaced."""
        writer, manager, verb = self.writer, record.get("manager", ""), record.get("verb", "")
        if record["type"] == "DELETED":
            if verb not in _DELETES:  # it went with its last finalizer
                await writer.patch(record, {"metadata": {"finalizers": None}})
            return await self._delete(record)
        if record["type"] == "MODIFIED" and verb in _DELETES:
            return await self._delete(record)
        if record["type"] == "ADDED":
            answer = await writer.create(record, record["object"], manager)
            if answer.code != EXISTS:
                return answer
        subresource = record.get("subresource", "")
        return await writer.update(
            record, record["object"], manager, subresource if subresource in SUBRESOURCES else ""
        )

    async def _delete(self, record: Object) -> ServerAnswer:
        answer = await self.writer.delete(record)
        return msgspec.structs.replace(answer, code=FOUND) if answer.code == GONE else answer


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        raise ConfigError(f"{time[:100]!r} is not the time of a record") from None
