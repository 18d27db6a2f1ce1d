"""Parts that all actors of a run share: the plan, the requests, the bodies, the clock."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from datetime import UTC, datetime
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from orchtw.commands.load.bodies import Bodies
from orchtw.commands.load.paths import ServerPaths
from orchtw.commands.load.plan import LoadPlan
from orchtw.commands.load.requests import LoadRequests


@attrs.define(kw_only=True)
class LoadWorld:
    """Surroundings of the actors; `background` are the pieces of work under way."""

    plan: LoadPlan
    requests: LoadRequests
    bodies: Bodies
    paths: ServerPaths
    random: Random
    reactor: Any
    background: set[Deferred[Any]] = attrs.field(factory=set)
    failure: Failure | None = None

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait for that time."""
        waiting: Deferred[None] = deferLater(self.reactor, seconds)
        return waiting

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do a piece of work in the background; its failure is kept for the end of the run."""
        doing: Deferred[None] = Deferred.fromCoroutine(work)
        self.background.add(doing)
        doing.addErrback(self._failed)
        doing.addBoth(lambda _: self.background.discard(doing))

    def cancel(self) -> None:
        """Give up all work in the background."""
        for each in list(self.background):
            each.cancel()

    def _failed(self, failure: Failure) -> None:
        if not isinstance(failure.value, CancelledError):
            self.failure = self.failure or failure


def now() -> str:
    """Return the time in seconds, as most of the API's times are written."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def precise_now() -> str:
    """Return the time in microseconds, as Leases have it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
