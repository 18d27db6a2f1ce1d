"""Renewal of this server's lease, and comparison with the other servers (reference CTRL-7, CTRL-52)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.bootstrap.agreement import Agreement
from orchtw.bootstrap.server_leases import RENEWAL_S, ServerLeases
from orchtw.errors import StatusError

WAITING_S = 1.0
"""Interval of a server that waits for others to go."""


class Presence:
    """Renews the lease every `RENEWAL_S`, and compares this server with the others.

    `renewed` is called after that, if they agree, but not at the start.
    """

    _log = Logger()

    def __init__(
        self,
        leases: ServerLeases,
        agreement: Agreement,
        clock: IReactorTime,
        renewed: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._leases = leases
        self._agreement = agreement
        self._clock = clock
        self._renewed = renewed
        self._next: IDelayedCall | None = None
        self._stopped = False

    async def start(self) -> None:
        """Renew the lease for the first time; a store of one server needs none."""
        if self._leases.shared:
            await self._say()

    def stop(self) -> None:
        """Stop renewing the lease."""
        self._stopped = True
        if self._next is not None and self._next.active():
            self._next.cancel()

    def _again(self) -> None:
        Deferred.fromCoroutine(self._say(self._renewed)).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("failed to maintain the servers' leases", failure=failure)

    async def _say(self, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Renew the lease and compare; a failure is logged and retried, while reads are served."""
        try:
            await self._try(self._leases.renew)
            if not self._stopped:
                await self._try(self._agreement.look)
            if then is not None and not self._stopped and self._agreement.agreed:
                await self._try(then)
        finally:
            if not self._stopped:
                wait_s = RENEWAL_S if self._agreement.agreed else WAITING_S
                self._next = self._clock.callLater(wait_s, self._again)

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except StatusError as error:
            self._log.warn("failed to renew this server's lease: {why}", why=error.message)
