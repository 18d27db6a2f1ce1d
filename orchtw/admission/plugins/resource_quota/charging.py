"""Charging of quotas for writes, with an account for each namespace that has writes to charge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.interfaces import IReactorTime

from orchtw.admission.plugins.resource_quota.rounds import Account, Waiter, Write
from orchtw.errors import InternalError
from orchtw.quota.quotas import AskedUsage, Quota, Unknown
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.listers.namespace_lister import NamespaceLister
from orchtw.registry.offload import Compute

EVALUATION_S: Final = 10.0
UNKNOWN_S: Final = 2.0
"""Longest wait of a write for the first count of a new quota, which takes milliseconds."""

MakeLister = Callable[[Callable[[str], None]], NamespaceLister[Quota]]


class Charging:
    """Charging of writes in all namespaces. `quotas` makes a lister that calls back when a namespace's quotas change.

    A write waits up to `patience_s` for the first count of a quota: 0 if no controller is known to count.
    """

    def __init__(
        self,
        quotas: MakeLister,
        write: Write,
        unsettled: Unsettled,
        clock: IReactorTime,
        run: Compute,
        patience_s: float,
    ) -> None:
        self.quotas = quotas(self._changed)
        self._write = write
        self._unsettled = unsettled
        self._clock = clock
        self._run = run
        self._patience_s = patience_s
        self._accounts: dict[str, Account] = {}
        self._counts: dict[str, list[Deferred[None]]] = {}

    async def charge(
        self, namespace: str, asked: AskedUsage, on_end: Callable[[Callable[[], None]], None], *, dry_run: bool
    ) -> None:
        """Charge a write, which calls the function given to `on_end` when it has ended; a dry run is only checked.

        Raises Refused, Conflict (409), and InternalError (500) after EVALUATION_S.
        """
        until = self._clock.seconds() + self._patience_s
        while True:
            waiter = Waiter(asked, namespace, self._unsettled, dry_run=dry_run)
            on_end(waiter.end)
            try:
                return await self._decided(namespace, waiter)
            except Unknown:
                if not await self._counted(namespace, until - self._clock.seconds()):
                    raise

    async def _decided(self, namespace: str, waiter: Waiter) -> None:
        account = self._accounts.get(namespace)
        if account is None:
            account = Account(namespace, self.quotas, self._write, self._clock, self._run, self._close)
            self._accounts[namespace] = account
        account.add(waiter)
        waiter.decided.addTimeout(EVALUATION_S, self._clock)
        try:
            await waiter.decided
        except DeferredTimeout:
            waiter.end()
            raise InternalError.of("resource quota evaluation timed out") from None
        except BaseException:
            waiter.end()
            raise

    def _close(self, namespace: str) -> None:
        del self._accounts[namespace]

    async def _counted(self, namespace: str, within_s: float) -> bool:
        """Wait until a quota of the namespace changes; False if none does within `within_s`."""
        if within_s <= 0:
            return False
        waiting: Deferred[None] = Deferred()
        self._counts.setdefault(namespace, []).append(waiting)
        waiting.addTimeout(within_s, self._clock)
        try:
            await waiting
        except DeferredTimeout:
            return False
        finally:
            waiters = self._counts.get(namespace, [])
            if waiting in waiters:
                waiters.remove(waiting)
            if not waiters:
                self._counts.pop(namespace, None)
        return True

    def _changed(self, namespace: str) -> None:
        """Wake the writes that wait for a count, once all followers of the quotas have been told."""
        for waiting in self._counts.pop(namespace, ()):
            self._clock.callLater(0, _go_on, waiting)


def _go_on(waiting: Deferred[None]) -> None:
    if not waiting.called:
        waiting.callback(None)


