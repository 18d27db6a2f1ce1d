"""Keeps saying that this server is alive, and follows who else is (reference CTRL-7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.registry.bootstrap.server_leases import RENEWAL_S, ServerLeases


class Presence:
    """Renews the lease every `RENEWAL_S`; `renewed` is called after that, at the start it is not."""

    _log = Logger()

    def __init__(
        self, leases: ServerLeases, clock: IReactorTime, renewed: Callable[[], Awaitable[None]] | None
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._renewed = renewed
        self._next: IDelayedCall | None = None
        self._stopped = False

    async def start(self) -> None:
        """Say so for the first time; on a store of one server there is nobody to say it to."""
        if self._leases.shared:
            await self._leases.renew()
            self._wait()

    def stop(self) -> None:
        """Say it no more."""
        self._stopped = True
        if self._next is not None and self._next.active():
            self._next.cancel()

    async def _renew(self) -> None:
        await self._leases.renew()
        if self._renewed is not None and not self._stopped:
            await self._renewed()

    def _again(self) -> None:
        Deferred.fromCoroutine(self._renew()).addErrback(self._failed).addBoth(lambda _: self._wait())

    def _failed(self, failure: Failure) -> None:
        self._log.warn("the server's lease could not be renewed: {why}", why=failure.getErrorMessage())

    def _wait(self) -> None:
        if not self._stopped:
            self._next = self._clock.callLater(RENEWAL_S, self._again)
