"""Execution of the bootstrap steps at the start and every minute, which restores deleted objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import StatusError

INTERVAL_S = 60.0
RETRY_S = 1.0
"""Delay after a run with a failed step: the server is not ready before all have succeeded."""


class Step(msgspec.Struct, kw_only=True):
    """One subject: `ended` is called after each attempt with its success."""

    name: str
    run: Callable[[], Awaitable[None]]
    ended: Callable[[bool], None]


class Upkeep:
    """Runner of the steps, in order: later ones write into namespaces that the first one makes.

    While this server `may` not, no step runs.
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
        """Run all steps, then again at intervals."""
        await self._look()

    def stop(self) -> None:
        """Cancel the next run; a current one ends by itself."""
        self._stopped = True
        if self._next is not None and self._next.active():
            self._next.cancel()

    def look_soon(self) -> None:
        """Run the steps in the next turn of the reactor, or once more after a current run."""
        if self._next is not None and self._next.active():
            self._next.reset(0)
        else:
            self._once_more = True

    def _again(self) -> None:
        Deferred.fromCoroutine(self._look()).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("failed to maintain the bootstrap objects", failure=failure)
        self._wait(INTERVAL_S)

    async def _look(self) -> None:
        """Run the steps. A failed one (a full disk, say) is logged and retried soon; reads are served meanwhile."""
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
