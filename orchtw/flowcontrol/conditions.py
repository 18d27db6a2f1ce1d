"""Condition Dangling of flow schemas: True if the priority level is missing (reference FLOW-12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.errors import StatusError
from orchtw.flowcontrol.live import GROUP, SCHEMAS, VERSION, Live
from orchtw.flowcontrol.matching import DANGLING
from orchtw.wire.objects import Object

DELAY_S: Final = 0.1
RETRY_S: Final = 10.0


class Conditions(Service):
    """Service that checks all schemas a moment after one of them, or a level, has changed.

    It runs in one process of a cluster.
    """

    _log = Logger()

    def __init__(self, live: Live, ensurer: Ensurer, clock: IReactorTime, wall: Callable[[], float]) -> None:
        self._live = live
        self._ensurer = ensurer
        self._clock = clock
        self._wall = wall
        self._next: IDelayedCall | None = None
        self._looking: Deferred[None] | None = None
        live.listen(self._soon)

    def startService(self) -> None:
        """Start, and check for the first time."""
        super().startService()  # type: ignore[no-untyped-call]
        self._soon()

    def stopService(self) -> Deferred[None] | None:
        """Stop checking; the result fires when the last write has ended."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._next is not None and self._next.active():
            self._next.cancel()
        self._next = None
        return self._looking

    def _soon(self, delay_s: float = DELAY_S) -> None:
        if self.running and self._next is None:
            self._next = self._clock.callLater(delay_s, self._look)

    def _look(self) -> None:
        """Check all schemas, one run at a time: later changes are seen by the next run."""
        if self._looking is not None:
            self._next = self._clock.callLater(DELAY_S, self._look)
            return
        self._next = None
        looking = self._looking = Deferred.fromCoroutine(self.tell())
        looking.addErrback(self._failed).addCallback(self._looked)

    def _failed(self, failure: Failure) -> None:
        """Log a failure, and retry later if the store rejected the write."""
        if isinstance(failure.value, StatusError):
            self._log.warn("failed to update the conditions of flow schemas: {why}", why=failure.value.message)
            self._soon(RETRY_S)
        else:
            self._log.failure("failed to maintain the conditions of flow schemas", failure=failure)

    def _looked(self, _result: None) -> None:
        self._looking = None

    async def tell(self) -> None:
        """Write the conditions that have changed. Raises the store's errors."""
        for schema in self._live.objects():
            wanted = condition(schema.level, there=self._live.has_level(schema.level))
            if not _says(schema.dangling, wanted):
                change = partial(self._changed, wanted)
                await self._ensurer.change_status(GROUP, VERSION, SCHEMAS, schema.name, change)

    def _changed(self, wanted: Mapping[str, str], status: Object) -> Object | None:
        """Return the status with the condition; None if it has it already."""
        conditions: list[dict[str, Any]] = status.get("conditions") or []
        found = next((each for each in conditions if each.get("type") == DANGLING), {})
        if _says(found, wanted):
            return None
        stamp = datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        since = found.get("lastTransitionTime", stamp) if found.get("status") == wanted["status"] else stamp
        others = [each for each in conditions if each.get("type") != DANGLING]
        return {**status, "conditions": [*others, {**wanted, "lastTransitionTime": since}]}


def _says(found: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(found.get(key) == value for key, value in wanted.items())


def condition(level: str, *, there: bool) -> dict[str, str]:
    """Return the Dangling condition of a schema that refers to `level`."""
    about = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
    if there:
        said = {"status": "False", "reason": "Found", "message": f"{about} and it exists"}
    else:
        said = {"status": "True", "reason": "NotFound", "message": f"{about} but there is no such object"}
    return {"type": DANGLING, **said}
