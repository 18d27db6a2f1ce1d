"""Faults that have struck and after which nothing was stored, as the record of writes keeps them."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from orchtw.errors import StatusError
from orchtw.faults.kinds import BOOKMARKS, CUT, EXPIRED
from orchtw.faults.rules import Strike

MOST_CHARACTERS: Final = 256
"""Limit of each text that clients choose: longer ones are truncated."""


class StruckFault(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Fault of one request. `rule` is the id of its rule, `answer` what the client got: `409 Conflict`."""

    rule: str
    answer: str
    user: str
    user_agent: str
    audit_id: str
    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str

    def characters(self) -> int:
        """Return the length of all texts."""
        return sum(map(len, msgspec.structs.astuple(self)))


class FaultRecord(Protocol):
    """Record of writes that takes in faults as well."""

    @property
    def position(self) -> int:
        """Number of the next entry."""

    def struck(self, fault: StruckFault, since: int) -> None:
        """Record a fault, unless its request has stored something in an entry from number `since` on."""


class NoRecord:
    """Record of a server that keeps none."""

    position = 0

    def struck(self, fault: StruckFault, since: int) -> None:
        """Keep nothing, as `FaultRecord.struck`."""


NO_RECORD: Final = NoRecord()


def answer_of(outcome: int | BaseException) -> str:
    """Return what a client got: a response with some code, or what was raised instead of one."""
    if isinstance(outcome, StatusError):
        return f"{outcome.code} {outcome.reason}".rstrip()
    return str(outcome) if isinstance(outcome, int) else "no answer"


def in_stream(strike: Strike) -> str:
    """Return what a fault has done to the stream of a watch."""
    rule = strike.live.rule
    dropped = "bookmark dropped" if rule.seconds is None else "bookmark delayed"
    return {CUT: "event cut", EXPIRED: "410 Expired in the stream", BOOKMARKS: dropped}.get(strike.kind, "")
