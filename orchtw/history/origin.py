"""Origin of a write: its user and request, which travel to the recorder in the note of the write's commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from orchtw.memory.untracked import untrack
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.write import Write
from orchtw.request import utf8_text
from orchtw.storage.store import Op
from orchtw.watch.entry import Entry

MOST_CHARACTERS: Final = 256
"""Limit of each text that clients choose: longer names and user agents are truncated."""

FAULT: Final = ("faults.", "/rule")
"""Beginning and end of the audit annotation that names the rules of the faults that have struck a request."""

NO_ANNOTATIONS: Final[Mapping[str, str]] = {}


class WriteOrigin(msgspec.Struct, frozen=True, eq=False):
    """Origin of one write. Fields are empty where nothing is known: not every write is made by a request.

    `verb` is the request's. `annotations` are those of its audit event, which may get more after the write: a
    connection is reset when the write has been stored.
    """

    user: str
    user_agent: str = ""
    audit_id: str = ""
    verb: str = ""
    subresource: str = ""
    manager: str = ""
    annotations: Mapping[str, str] = NO_ANNOTATIONS

    @property
    def fault(self) -> str:
        """Return the rules of the faults that have struck the request, comma-separated."""
        begins, ends = FAULT
        found = (text for name, text in self.annotations.items() if name.startswith(begins) and name.endswith(ends))
        return next(found, "")[:MOST_CHARACTERS]

    def characters(self) -> int:
        """Return the length of the texts that differ from write to write."""
        return len(self.user) + len(self.user_agent) + len(self.audit_id) + len(self.manager)


UNKNOWN: Final = WriteOrigin("")
"""Origin of writes that other processes have made."""


class WriteNote:
    """Note of a commit: the write path's own note, which the cache reads, and the write's origin.

    A deletion has no note of its own; the cache reads none either.
    """

    __slots__ = ("_prepared", "origin", "stored")

    def __init__(self, prepared: Prepared | None, origin: WriteOrigin) -> None:
        self._prepared = prepared
        self.origin = origin
        self.stored: Stored | None = None if prepared is None else prepared.stored

    @property
    def terms(self) -> bytes:
        """Labels and fields for other processes, as `Prepared.terms`."""
        return b"" if self._prepared is None else self._prepared.terms

    def entry(self, revision: int) -> Entry:
        """Return the entry of the committed object, as `Prepared.entry`."""
        assert self._prepared is not None
        return self._prepared.entry(revision)


def noted(write: Write, op: Op) -> Op:
    """Return the commit of a write with its origin in the note."""
    note = op.note
    prepared = note if isinstance(note, Prepared) else None
    return Op(op.key, op.value, op.expected, WriteNote(prepared, origin_of(write)), op.ttl_s, op.guard)


def origin_of(write: Write) -> WriteOrigin:
    """Return the origin of a write. Nothing of the request itself is kept, which has the body."""
    request, user, manager = write.request, write.user.name[:MOST_CHARACTERS], write.manager[:MOST_CHARACTERS]
    if request is None:
        origin = WriteOrigin(user, subresource=write.subresource, manager=manager)
    else:
        agent = utf8_text(request.headers.get("user-agent", ""))[:MOST_CHARACTERS]
        verb = "" if request.info is None else request.info.verb
        origin = WriteOrigin(
            user, agent, request.audit_id, verb, write.subresource, manager, request.annotations
        )
    untrack(origin)
    return origin
