"""Runs the bootstrap steps at the start and again every minute, so that what somebody deleted comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import StatusError

INTERVAL_S = 60.0
RETRY_S = 1.0
"""After a look in which a step was refused: the server is not ready before all have been carried out."""


@attrs.define(slots=True, kw_only=True)
class Step:
    """One subject: `ended` is told after each try whether it has been carried out."""

    name: str
    run: Callable[[], Awaitable[None]]
    ended: Callable[[bool], None]


class Upkeep:
    """The steps in their order: later ones write into namespaces that the first one makes.

    While this server `may` not, it makes nothing.
    """

    _log = Logger()

    def __init__(self, steps: Sequence[Step], clock: IReactorTime, may: Callable[[], bool] = lambda: True) -> None:
        self._steps = tuple(steps)
        self._may = may
        self._clock = clock
        self._stopped = self._once_more = False
        self._next: IDelayedCall | None = None
        self._refused: set[str] = set()

    async def start(self) -> None:
        """Carry out all steps, then look again from time to time."""
        await self._look()

    def stop(self) -> None:
        """Cancel the next look; one that runs ends by itself."""
        self._stopped = True
        if self._next is not None and self._next.active():
            self._next.cancel()

    def look_soon(self) -> None:
        """Look in the next turn of the reactor, or once more behind a look that is under way."""
        if self._next is not None and self._next.active():
            self._next.reset(0)
        else:
            self._once_more = True

    def _again(self) -> None:
        Deferred.fromCoroutine(self._look()).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("the bootstrap objects could not be looked after", failure=failure)
        self._wait(INTERVAL_S)

    async def _look(self) -> None:
        """A step that is refused (a full disk, say) is logged and tried again soon; reads are served meanwhile."""
        for step in self._steps:
            if not self._may():
                step.ended(False)
                continue
            try:
                await step.run()
            except StatusError as error:
                if step.name not in self._refused:
                    self._log.error("bootstrap step {name}: {why}", name=step.name, why=error.message)
                self._refused.add(step.name)
                step.ended(False)
            else:
                self._refused.discard(step.name)
                step.ended(True)
        self._wait(RETRY_S if self._refused else INTERVAL_S)

    def _wait(self, seconds: float) -> None:
        if self._once_more:
            seconds, self._once_more = 0.0, False
        if not self._stopped:
            self._next = self._clock.callLater(seconds, self._again)
