"""Periodic checks of the servers behind APIServices, written to their status (reference AGG-3, AGG-15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import StatusError
from orchtw.registry.aggregation.checks import Checks
from orchtw.registry.aggregation.conditions import LOCAL, AvailabilityVerdict
from orchtw.registry.aggregation.services import ApiService, ApiServices
from orchtw.watch.event_log import Event

INTERVAL_S: Final = 30.0
RETRY_S: Final = 0.5
"""Delay after the first failure; each further one doubles it, up to INTERVAL_S."""

SUSPECT_S: Final = 1.0
"""Shortest time between two checks that failing requests cause."""

Say = Callable[[str, AvailabilityVerdict], Awaitable[None]]
"""Write the condition of an APIService. Raises StatusError."""


class _Look(msgspec.Struct, eq=False):
    """Checks of one APIService: one at a time, and one more when something has changed meanwhile."""

    timer: IDelayedCall | None = None
    running: Deferred[None] | None = None
    begun: float = -INTERVAL_S
    again: bool = False
    failures: int = 0

    def cancel_timer(self) -> None:
        if self.timer is not None and self.timer.active():
            self.timer.cancel()


class Availability(Service):
    """Checks of each APIService: at the start, every INTERVAL_S, and when it, its Service or the endpoints change."""

    _log = Logger()

    def __init__(self, services: ApiServices, checks: Checks, say: Say, clock: IReactorTime) -> None:
        self._services = services
        self._checks = checks
        self._say = say
        self._clock = clock
        self._looks: dict[str, _Look] = {}
        services.listen(self._changed)

    def startService(self) -> None:
        """Begin to check APIServices."""
        super().startService()  # type: ignore[no-untyped-call]
        for stored in (self._checks.services, self._checks.endpoints):
            stored.cache.follow(self)
        for service in self._services.all.values():
            self._changed(None, service)

    def stopService(self) -> None:
        """Stop the checks, and give up those under way."""
        super().stopService()  # type: ignore[no-untyped-call]
        for stored in (self._checks.services, self._checks.endpoints):
            stored.cache.leave(self)
        for name in list(self._looks):
            self._forget(name)

    def suspect(self, service: ApiService) -> None:
        """Check a service soon after a failed request, at most once in SUSPECT_S."""
        look = self._looks.get(service.name)
        if look is not None and self._clock.seconds() - look.begun >= SUSPECT_S:
            self._soon(service.name)

    def check_all(self) -> None:
        """Check the servers of all APIServices soon."""
        if self.running:
            for service in self._services.remote.values():
                self._soon(service.name)

    def take(self, event: Event) -> None:
        """Check the APIServices of a changed Service or endpoints, as `Follower.take`."""
        for service in self._services.remote.values():
            backend = service.backend
            if backend is not None and event.key == f"{backend.service.namespace}/{backend.service.name}":
                self._soon(service.name)

    def closed(self) -> None:
        """Do nothing: these resources are of the release and never go away."""

    def _changed(self, old: ApiService | None, new: ApiService | None) -> None:
        if not self.running:
            return
        if new is None:
            assert old is not None
            self._forget(old.name)
        elif old is None and new.backend is None and new.available:
            return  # the server's own are made so
        elif old is None or _asked(old) != _asked(new):
            self._soon(new.name)

    def _forget(self, name: str) -> None:
        look = self._looks.pop(name, None)
        if look is not None:
            look.cancel_timer()
            if look.running is not None:
                look.running.cancel()

    def _soon(self, name: str) -> None:
        look = self._looks.setdefault(name, _Look())
        if look.running is not None:
            look.again = True
        else:
            self._later(name, look, 0)

    def _later(self, name: str, look: _Look, delay_s: float) -> None:
        look.cancel_timer()
        look.timer = self._clock.callLater(delay_s, self._begin, name, look)

    def _begin(self, name: str, look: _Look) -> None:
        look.again, look.begun = False, self._clock.seconds()
        running = Deferred.fromCoroutine(self._look(name, look))
        running.addErrback(self._failed, name, look)
        if not running.called:
            look.running = running

    def _failed(self, failure: Failure, name: str, look: _Look) -> None:
        if not isinstance(failure.value, CancelledError):
            self._log.failure("availability checks of APIService {name} failed", failure=failure, name=name)
            self._next(name, look, good=False)

    async def _look(self, name: str, look: _Look) -> None:
        service = self._services.all.get(name)
        if service is None:
            self._looks.pop(name, None)
            return
        verdict = await self._checks.verdict(service)
        good = verdict.status == "True"
        if not look.again:
            try:
                await self._say(name, verdict)
            except StatusError as error:
                self._log.warn("APIService {name}: its status cannot be written: {why}", name=name, why=error.message)
                good = False
        if verdict is LOCAL and good and not look.again:
            self._looks.pop(name, None)
        else:
            self._next(name, look, good=good)

    def _next(self, name: str, look: _Look, *, good: bool) -> None:
        look.running = None
        if self._looks.get(name) is not look:
            return
        look.failures = 0 if good else min(look.failures + 1, _DOUBLINGS)
        delay_s = INTERVAL_S if good else min(INTERVAL_S, RETRY_S * 2 ** (look.failures - 1))
        self._later(name, look, 0 if look.again else delay_s)


_DOUBLINGS: Final = 10


def _asked(service: ApiService) -> Any:
    return service.group_version, service.backend
