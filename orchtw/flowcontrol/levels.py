"""Priority levels, and their flows (reference FLOW-2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.flowcontrol.dealer import deal, entropy
from orchtw.flowcontrol.matching import Schema
from orchtw.flowcontrol.queueset import Flow, Queuing, Seating
from orchtw.flowcontrol.stats import Stats
from orchtw.registry.groups.flowcontrol.mandatory import EXEMPT

LEAST_QUEUES: Final = 1


class LevelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a priority level, from its object. `shares` are 0 for the level without limits."""

    name: str
    uid: str
    exempt: bool
    shares: int
    queuing: Queuing | None

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> LevelSettings:
        """Parse an object that has passed validation."""
        meta, spec = obj.get("metadata") or {}, obj.get("spec") or {}
        limited = spec.get("limited") or {}
        response = limited.get("limitResponse") or {}
        queues = response.get("queuing") if response.get("type") == "Queue" else None
        exempt = spec.get("type") == "Exempt"
        return cls(
            name=meta.get("name", ""),
            uid=meta.get("uid", ""),
            exempt=exempt,
            shares=0 if exempt else max(1, limited.get("assuredConcurrencyShares", 1)),
            queuing=None if queues is None else _queuing(queues),
        )


def _queuing(queues: Mapping[str, int]) -> Queuing:
    count = max(LEAST_QUEUES, queues.get("queues", LEAST_QUEUES))
    hand = min(max(1, queues.get("handSize", 1)), count)
    return Queuing(queues=count, hand_size=hand, length=max(1, queues.get("queueLengthLimit", 1)))


class Level:
    """State of a level. `seating` is None for the one without limits."""

    __slots__ = ("gone", "limit", "name", "seating", "shares", "uid")

    def __init__(self, settings: LevelSettings, limit: int) -> None:
        self.name = settings.name
        self.seating: Seating | None = None
        self.configure(settings, limit)

    def configure(self, settings: LevelSettings, limit: int) -> None:
        """Apply new settings to the level."""
        self.uid = settings.uid
        self.limit = limit
        self.gone = False
        if settings.exempt:
            self.seating = None
        elif self.seating is None:
            self.seating = Seating(limit, settings.queuing)
        else:
            self.seating.reshape(limit, settings.queuing)

    @property
    def idle(self) -> bool:
        """Report whether no request is served or waits here."""
        return self.seating is None or self.seating.idle


def limits(settings: Iterable[LevelSettings], total: int) -> dict[str, int]:
    """Return the seats of each level: its part of the total by shares, rounded up."""
    limited = [each for each in settings if not each.exempt]
    shares = sum(each.shares for each in limited)
    return {each.name: -(-total * each.shares // shares) for each in limited}


class KnownFlow(Flow):
    """Flow of a schema in its level, and the response headers that name both.

    Requests of the schema `exempt` are served `at_once`: they do not even wait for their turn.
    """

    __slots__ = ("at_once", "distinguisher", "headers", "level", "names", "schema", "stats")

    def __init__(
        self, schema: Schema, level: Level, distinguisher: str, headers: Sequence[tuple[str, str]], stats: Stats
    ) -> None:
        seating = level.seating
        queuing = None if seating is None else seating.queuing
        super().__init__(
            () if queuing is None else deal(entropy(schema.name, distinguisher), queuing.queues, queuing.hand_size)
        )
        self.at_once = schema.name == EXEMPT
        self.names = level.name, schema.name
        self.schema = schema
        self.level = level
        self.distinguisher = distinguisher
        self.headers = headers
        self.names = level.name, schema.name
        self.stats = stats
