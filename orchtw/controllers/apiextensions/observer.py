"""Observer of definitions: derives names, conditions and the state of schemas for their status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.interfaces import IReactorTime

from orchtw.controllers.apiextensions.definition import Definition
from orchtw.controllers.apiextensions.findings import establishment
from orchtw.controllers.apiextensions.naming import NameIndex, accept
from orchtw.controllers.apiextensions.statuses import News
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.conditions import NON_STRUCTURAL, Finding, find
from orchtw.registry.groups.apiextensions.names import approval_finding
from orchtw.registry.groups.apiextensions.structure import structure_finding
from orchtw.registry.offload import Offload
from orchtw.wire.objects import Object

ESTABLISHING_DELAY_S = 5.0
"""Delay with several servers: by then all of them have seen that the names are accepted."""

WORKERS_DELAY_S = 0.5
"""Delay with workers of one server, which are told in the same turn."""


class Observer:
    """Observer of definitions, which caches only findings that are slow to make again.

    `delay_s` is the time in which other processes, if any, see this one's writes.
    """

    def __init__(
        self,
        index: NameIndex,
        naming: Naming,
        clock: IReactorTime,
        offload: Offload,
        delay_s: Callable[[], Awaitable[float]],
    ) -> None:
        self._index = index
        self._naming = naming
        self._clock = clock
        self._offload = offload
        self._delay_s = delay_s
        self._structures: dict[str, tuple[int, Finding | None]] = {}
        self._due: dict[str, float] = {}

    def forget(self, uid: str) -> None:
        """Forget a definition that is gone."""
        self._structures.pop(uid, None)
        self._due.pop(uid, None)

    async def news(self, definition: Definition, obj: Object, size_bytes: int) -> tuple[News, float | None]:
        """Return the status of a definition that is not terminating, and the seconds until the next look.

        The names that it tells are held for the definition from now on, beside those that it has until that is told.
        """
        structure = await self._structure(definition, obj, size_bytes)
        names, finding = accept(definition, self._index)
        self._index.hold(definition.name, definition.group, names, definition.accepted)
        after_s = await self._establishing_s(definition) if finding.holds and not definition.established else 0.0
        established = establishment(definition, names_accepted=finding.holds, due=not after_s)
        approval = approval_finding(definition.group, definition.annotations, self._naming)
        findings = [each for each in (finding, established, structure, approval) if each is not None]
        dropped = (NON_STRUCTURAL,) if structure is None else ()
        return News(findings=findings, dropped=dropped, accepted=names), after_s or None

    async def _structure(self, definition: Definition, obj: Object, size_bytes: int) -> Finding | None:
        """Schemas are looked at again when they have changed; at first sight only where they are in doubt.

        What has just been created is structural, or it would have been refused.
        """
        generation, found = self._structures.get(definition.uid, (0, None))
        if generation == definition.generation:
            return found
        doubtful = find(definition.conditions, NON_STRUCTURAL) or obj["spec"].get("preserveUnknownFields")
        found = None
        if generation or doubtful:
            found = await self._offload.run(size_bytes, lambda: structure_finding(obj, self._naming))
        self._structures[definition.uid] = definition.generation, found
        return found

    async def _establishing_s(self, definition: Definition) -> float:
        """Return how long to wait before a definition with accepted names is established, in seconds."""
        delay_s = await self._delay_s()
        if not delay_s:
            return 0.0
        now = self._clock.seconds()
        return max(0.0, self._due.setdefault(definition.uid, now + delay_s) - now)
