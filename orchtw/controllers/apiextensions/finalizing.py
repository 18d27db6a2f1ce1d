"""End of a definition: its collection is emptied, then its finalizer removed (reference CRD-25)."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.interfaces import IReactorTime

from orchtw.controllers.apiextensions.definition import Definition
from orchtw.controllers.apiextensions.emptying import Emptying
from orchtw.controllers.apiextensions.findings import (
    COMPLETED,
    IN_PROGRESS,
    NEVER_ESTABLISHED,
    OVERLAPPING,
    UNCONFIRMED,
    failed,
)
from orchtw.controllers.apiextensions.statuses import News, Statuses
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.conditions import TERMINATING, find
from orchtw.registry.groups.apiextensions.definition import CLEANUP_FINALIZER
from orchtw.registry.target import Target

CONFIRMATION_S = 60.0
"""Time after which the condition reports objects that remain, and interval until all are deleted again."""


class Finalizing:
    """Rounds for one definition, in succession, until `end` returns True."""

    def __init__(self, statuses: Statuses, emptying: Emptying, naming: Naming, clock: IReactorTime) -> None:
        self._statuses = statuses
        self._emptying = emptying
        self._clock = clock
        self._finalizer = naming.translate(CLEANUP_FINALIZER)
        self._next_delete: dict[str, float] = {}

    def forget(self, uid: str) -> None:
        """Forget a definition that is gone."""
        self._next_delete.pop(uid, None)

    async def end(self, definition: Definition, target: Target | None) -> bool:
        """Make one round on a terminating definition with the objects of `target`; False: objects remain.

        `target` None: it was never served. The status is written before the objects are listed: that write reaches
        the store after all creates from before the collection was closed, so none is missed.
        """
        if self._finalizer not in definition.finalizers:
            return True
        if target is None:
            finding = OVERLAPPING if definition.established else NEVER_ESTABLISHED
            await self._statuses.tell(definition, News(findings=[finding], released=self._finalizer))
            return True
        if not _is_under_way(definition):
            await self._statuses.tell(definition, News(findings=[IN_PROGRESS]))
        if not await self._empty(definition, target):
            return False
        await self._statuses.tell(definition, News(findings=[COMPLETED], released=self._finalizer))
        return True

    async def _empty(self, definition: Definition, target: Target) -> bool:
        """Delete everything, and what is still there after a while again; whether nothing is left."""
        due = self._next_delete.get(definition.uid)
        again = due is not None and self._clock.seconds() >= due
        if due is None or again:
            if refusals := await self._emptying.delete_all(target):
                await self._statuses.tell(definition, News(findings=[failed(_listed(refusals))]))
                return False
            self._next_delete[definition.uid] = self._clock.seconds() + CONFIRMATION_S
        if not await self._emptying.remaining(target.stored):
            return True
        if again:
            await self._statuses.tell(definition, News(findings=[UNCONFIRMED]))
        return False


def _is_under_way(definition: Definition) -> bool:
    found = find(definition.conditions, TERMINATING)
    return found is not None and found.get("reason") != "InstanceDeletionPending"


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
