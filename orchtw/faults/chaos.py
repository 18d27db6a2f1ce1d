"""Preset `chaos`: faults that a correct controller survives, whatever the seed."""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from orchtw.faults.kinds import BOOKMARKS, CONFLICT, CUT, EXPIRED, LATE, THROTTLED
from orchtw.faults.rule import FaultRule, FaultSelection

SEED_BITS: Final = 32
"""Bits of seeds that nobody has chosen."""

_CHANGES: Final = ("update",)
"""Verbs that meet conflicts: a server makes a patch again by itself, and clients do not expect one to conflict."""

_ANSWERED: Final = ("get", "list", "create", "update", "patch", "delete", "deletecollection")
_WATCH: Final = ("watch",)


def chaos(seed: int, selection: FaultSelection) -> tuple[FaultRule, ...]:
    """Return the rules of a seed for the selected requests; equal seeds make equal rules.

    Nothing in them needs more of a client than the API asks for: writes that were stored are answered, and so are
    creates but for 429. Progress stays possible: `gap` lets at least three of four updates pass by the conflicts, and
    eight of nine requests by the throttling; each watch that is cut or expires has shown an event before, and two of
    three begin.
    """
    random = Random(seed)

    def rule(kind: str, verbs: tuple[str, ...], probability: float, gap: int, **more: object) -> FaultRule:
        chosen = FaultRule(
            kind=kind,
            selection=msgspec.structs.replace(selection, verbs=verbs),
            probability=probability,
            seed=random.getrandbits(SEED_BITS),
            gap=gap,
        )
        return msgspec.structs.replace(chosen, **more)

    return (
        rule(LATE, _ANSWERED, 0.2, 2, seconds=random.randint(20, 150) / 1000),
        rule(CONFLICT, _CHANGES, 0.2, 3, status=409),
        rule(THROTTLED, _ANSWERED, 0.05, 8, status=429, retry_after_s=1),
        rule(EXPIRED, _WATCH, 0.1, 2, status=410),
        rule(EXPIRED, _WATCH, 0.2, 2, status=410, in_stream=True, after_events=random.randint(1, 4)),
        rule(CUT, _WATCH, 0.3, 1, after_events=random.randint(1, 4)),
        rule(BOOKMARKS, _WATCH, 0.5, 0),
    )
