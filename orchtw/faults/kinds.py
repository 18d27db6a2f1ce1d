"""Kinds of faults: the verbs that each can strike, and the fields that its rules take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

LISTS: Final = ("list", "watch")
READS: Final = ("get", *LISTS)
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
VERBS: Final = (*READS, *WRITES)

CONFLICT: Final = "conflict"
EXPIRED: Final = "expired"
THROTTLED: Final = "throttled"
FAILING: Final = "failing"
HANGING: Final = "hanging"
LATE: Final = "late"
CUT: Final = "cut"
BOOKMARKS: Final = "bookmarks"
STALE: Final = "stale"
RESET: Final = "reset"

BEFORE: Final = "before"
AFTER: Final = "after"
MOMENTS: Final = (BEFORE, AFTER)
"""Moments of a reset: before the request is served, or after its write is stored."""


class FaultKind(msgspec.Struct, frozen=True, kw_only=True):
    """Kind of fault: it can strike requests of `verbs`, and strikes those of `usual` if its rule names no verb.

    `takes` are the fields of a rule that say how it strikes, by their names in JSON.
    """

    verbs: tuple[str, ...] = VERBS
    usual: tuple[str, ...] = VERBS
    takes: frozenset[str] = frozenset()


KINDS: Final[Mapping[str, FaultKind]] = {
    # A create meets AlreadyExists, and a collection is deleted object by object: rules have to name these verbs.
    CONFLICT: FaultKind(verbs=WRITES, usual=("update", "patch", "delete"), takes=frozenset({"message"})),
    EXPIRED: FaultKind(verbs=LISTS, usual=LISTS, takes=frozenset({"message", "inStream", "afterEvents"})),
    THROTTLED: FaultKind(takes=frozenset({"message", "retryAfterSeconds"})),
    FAILING: FaultKind(takes=frozenset({"message", "retryAfterSeconds"})),
    HANGING: FaultKind(takes=frozenset({"seconds"})),
    LATE: FaultKind(takes=frozenset({"seconds"})),
    CUT: FaultKind(verbs=("watch",), usual=("watch",), takes=frozenset({"afterEvents"})),
    BOOKMARKS: FaultKind(verbs=("watch",), usual=("watch",), takes=frozenset({"seconds"})),
    STALE: FaultKind(verbs=READS, usual=READS, takes=frozenset({"seconds", "revisions"})),
    RESET: FaultKind(usual=WRITES, takes=frozenset({"when"})),
}

STATUSES: Final[Mapping[int, str]] = {
    409: CONFLICT, 410: EXPIRED, 429: THROTTLED, 500: FAILING, 503: FAILING, 504: FAILING
}  # fmt: skip
"""Kinds by the status code of their answer, which may stand in a rule in place of the kind."""
