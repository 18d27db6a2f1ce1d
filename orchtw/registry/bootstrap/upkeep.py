"""Runs the bootstrap steps at the start and again every minute, so that what somebody deleted comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from orchtw.errors import StatusError

INTERVAL_S = 60.0


@attrs.define(slots=True, kw_only=True)
class Step:
    """One subject: `done` is told whenever it has been carried out."""

    name: str
    run: Callable[[], Awaitable[None]]
    done: Callable[[], None]


class Upkeep:
    """The steps in their order: later ones write into namespaces that the first one makes."""

    _log = Logger()

    def __init__(self, steps: Sequence[Step], clock: Any) -> None:
        self._steps = tuple(steps)
        self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self._look()))
        self._loop.clock = clock

    async def start(self) -> None:
        """Carry out all steps, then look again every INTERVAL_S."""
        await self._look()
        self._loop.start(INTERVAL_S, now=False)

    def stop(self) -> None:
        """Look no more."""
        if self._loop.running:
            self._loop.stop()

    async def _look(self) -> None:
        """A step that is refused (a full disk, say) is logged and tried again in the next look; reads are served."""
        for step in self._steps:
            try:
                await step.run()
            except StatusError as error:
                self._log.error("bootstrap step {name}: {why}", name=step.name, why=error.message)
            else:
                step.done()
