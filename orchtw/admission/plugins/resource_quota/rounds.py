"""Charges of one namespace: concurrent writes share one update of its quotas (reference PLUG-29, PLUG-61)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import Conflict, InternalError, StatusError
from orchtw.quota.amounts import Amounts
from orchtw.quota.quotas import AskedUsage, Quota, Refused, Standing, fit
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.listers.namespace_lister import NamespaceLister
from orchtw.registry.offload import Compute
from orchtw.storage.store import WriteOutcome
from orchtw.watch.entry import Entry

MAX_ROUNDS: Final = 100
"""Limit of rounds in one evaluation, which ends a livelock with other writers of the same quotas."""

TURN_S: Final = 0.005
"""Reactor time for evaluations in one turn."""

Write = Callable[[Entry, Amounts], Coroutine[Deferred[WriteOutcome], Any, WriteOutcome]]
"""Stores the new usage of some entries of a quota, unless it has changed."""


class Waiter:
    """Write to be charged: `decided` fires on its acceptance or refusal; its charges are recorded until it ends."""

    def __init__(self, asked: AskedUsage, namespace: str, unsettled: Unsettled, *, dry_run: bool) -> None:
        self.asked = asked
        self.dry_run = dry_run
        self.decided: Deferred[None] = Deferred()
        self._namespace = namespace
        self._unsettled = unsettled
        self._charged: dict[str, Amounts] = {}
        self._has_ended = False

    def accept(self) -> None:
        """Let the write go on."""
        if not self.decided.called:
            self.decided.callback(None)

    def refuse(self, why: Exception) -> None:
        """Make the write fail with this refusal."""
        if not self.decided.called:
            self.decided.errback(why)

    def charge(self, quota: str, charge: Amounts) -> None:
        """Record a charge that is about to be stored; not if the write has already ended."""
        if not self._has_ended:
            self._charged[quota] = charge
            self._unsettled.add((self._namespace, quota), charge)

    def discharge(self, quota: str) -> None:
        """Drop the record of a charge: it was not stored, or the write has ended."""
        charge = self._charged.pop(quota, None)
        if charge is not None:
            self._unsettled.end((self._namespace, quota), charge)

    def end(self) -> None:
        """End the write, and with it the record of its charges."""
        self._has_ended = True
        for quota in tuple(self._charged):
            self.discharge(quota)


class Round:
    """One evaluation: usage of each quota after it, decided writes, and their charges."""

    def __init__(self, quotas: Sequence[tuple[Entry, Quota]]) -> None:
        self._entries = {quota.name: entry for entry, quota in quotas}
        self._standings = {quota.name: Standing(quota) for _, quota in quotas}
        self._verdicts: list[tuple[Waiter, Refused | None]] = []
        self.charged: list[Waiter] = []
        self._charges: list[tuple[Waiter, str, Amounts]] = []

    def evaluate(self, waiter: Waiter) -> None:
        """Decide whether a write fits beside those before it."""
        try:
            charges = fit(self._standings.values(), waiter.asked)
        except Refused as refused:
            self._verdicts.append((waiter, refused))
            return
        if waiter.dry_run or not charges:
            self._verdicts.append((waiter, None))
            return
        self.charged.append(waiter)
        for name, charge in charges.items():
            self._standings[name].charge(charge)
            self._charges.append((waiter, name, charge))

    @property
    def refuses(self) -> bool:
        """Report whether a write is refused."""
        return any(refused is not None for _, refused in self._verdicts)

    def tell(self) -> None:
        """Accept the writes that are charged nothing, and refuse those that do not fit."""
        for waiter, refused in self._verdicts:
            if refused is None:
                waiter.accept()
            else:
                waiter.refuse(refused)

    async def store(self, write: Write) -> tuple[set[str], set[str]]:
        """Store the usage; returns the names of the quotas stored, and of those that others have changed first.

        Raises what the store raises.
        """
        names = list(dict.fromkeys(name for _, name, _ in self._charges))
        for waiter, name, charge in self._charges:
            waiter.charge(name, charge)
        writing = [
            Deferred.fromCoroutine(write(self._entries[name], self._standings[name].changed)) for name in names
        ]
        results = await DeferredList(writing, consumeErrors=True)
        lost: set[str] = set()
        failure: Failure | None = None
        for name, (_, outcome) in zip(names, results, strict=True):
            if isinstance(outcome, Failure):
                failure = outcome
            elif not outcome.revision:
                lost.add(name)
        for waiter, name, _ in self._charges:
            if name in lost:
                waiter.discharge(name)
        if failure is not None:
            failure.raiseException()
        return set(names) - lost, lost


class Account:
    """Charges of one namespace: writes that come while its quotas are being stored are in the next round.

    `closed` is called, with the namespace, when no more writes wait.
    """

    _log = Logger()

    def __init__(
        self,
        namespace: str,
        quotas: NamespaceLister[Quota],
        write: Write,
        clock: IReactorTime,
        run: Compute,
        closed: Callable[[str], None],
    ) -> None:
        self._namespace = namespace
        self._quotas = quotas
        self._write = write
        self._clock = clock
        self._run = run
        self._closed = closed
        self._waiting: list[Waiter] = []
        self._is_working = False

    def add(self, waiter: Waiter) -> None:
        """Charge a write: at once, or in the next round."""
        self._waiting.append(waiter)
        if not self._is_working:
            self._is_working = True
            Deferred.fromCoroutine(self._work()).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("the quotas of {namespace} cannot be evaluated", failure, namespace=self._namespace)

    async def _work(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting, []
            try:
                await self._evaluate(together)
            except StatusError as error:
                _refuse_all(together, error)
            except Exception:  # noqa: BLE001 - these writes must be refused, and later ones served
                self._log.failure("the quotas of {namespace} cannot be evaluated", namespace=self._namespace)
                _refuse_all(together, InternalError.of("the quotas cannot be evaluated"))
        self._is_working = False
        self._closed(self._namespace)

    async def _evaluate(self, waiters: Sequence[Waiter]) -> None:
        """Charge the writes that fit, in order of arrival, until all charges are stored.

        Quotas that others have written meanwhile are evaluated again, those already stored are not. On a shared
        store, no write is refused before the cache is as new as the store. Raises Conflict (409) after MAX_ROUNDS.
        """
        done: set[str] = set()
        is_fresh, lost = False, {""}
        for _ in range(MAX_ROUNDS):
            quotas = await self._quotas.ready(self._namespace, self._run)
            tried = Round([pair for pair in quotas if pair[1].name not in done])
            await self._try(tried, waiters)
            if tried.refuses and not is_fresh and (wait := self._quotas.due()) is not None:
                await wait
                is_fresh = True
                continue
            tried.tell()
            written, lost = await tried.store(self._write)
            if not lost:
                for waiter in tried.charged:
                    waiter.accept()
                return
            done |= written
            waiters = tried.charged
            is_fresh = False
            if (wait := self._quotas.due()) is not None:
                await wait
                is_fresh = True
        raise Conflict.modified("resourcequotas", "", min(lost))

    async def _try(self, tried: Round, waiters: Sequence[Waiter]) -> None:
        until = self._clock.seconds() + TURN_S
        for waiter in waiters:
            if not waiter.decided.called:
                tried.evaluate(waiter)
            if self._clock.seconds() >= until:
                await deferLater(self._clock, 0)
                until = self._clock.seconds() + TURN_S


def _refuse_all(waiters: Sequence[Waiter], why: Exception) -> None:
    for waiter in waiters:
        waiter.refuse(why)
