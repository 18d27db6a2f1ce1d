"""The charges of one namespace: many writes share one write of its quotas (reference PLUG-29, PLUG-61)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
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
from orchtw.registry.by_namespace import ByNamespace, Run
from orchtw.storage.freshness import MOST_RECENT
from orchtw.storage.interface import WriteOutcome
from orchtw.watch.entry import Entry

MAX_ROUNDS: Final = 100
"""Rounds of one evaluation against other writers of the same quotas: a livelock ends."""

TURN_S: Final = 0.005
"""How long writes are evaluated before others have their turn."""

Write = Callable[[Entry, Amounts], Coroutine[Deferred[WriteOutcome], Any, WriteOutcome]]
"""Stores a quota with what is used of some of its entries now, unless it has changed."""


class Waiter:
    """One write that is to be charged: until it has been, or was refused, and then until it has ended."""

    def __init__(self, asked: AskedUsage, namespace: str, unsettled: Unsettled, *, dry_run: bool) -> None:
        self.asked = asked
        self.dry_run = dry_run
        self.decided: Deferred[None] = Deferred()
        self._namespace = namespace
        self._unsettled = unsettled
        self._charged: dict[str, Amounts] = {}
        self._has_ended = False

    def accept(self) -> None:
        """The write may go on."""
        if not self.decided.called:
            self.decided.callback(None)

    def refuse(self, why: Exception) -> None:
        """The write must not go on."""
        if not self.decided.called:
            self.decided.errback(why)

    def charge(self, quota: str, charge: Amounts) -> None:
        """It is about to be charged; if nobody waits for that any more, it is for nothing."""
        if not self._has_ended:
            self._charged[quota] = charge
            self._unsettled.add((self._namespace, quota), charge)

    def discharge(self, quota: str) -> None:
        """It has not been charged after all."""
        charge = self._charged.pop(quota, None)
        if charge is not None:
            self._unsettled.end((self._namespace, quota), charge)

    def end(self) -> None:
        """The write has ended."""
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
        """See whether a write fits beside those before it."""
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
        """Let those go on who are charged nothing."""
        for waiter, refused in self._verdicts:
            if refused is None:
                waiter.accept()
            else:
                waiter.refuse(refused)

    async def store(self, write: Write) -> tuple[set[str], set[str]]:
        """Write what is used: the names of the quotas that are, and of those that others have changed before.

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
    """The charges of one namespace: who comes while its quotas are written is in the next round.

    `closed` is called, with the namespace, when nobody waits any more.
    """

    _log = Logger()

    def __init__(
        self,
        namespace: str,
        quotas: ByNamespace[Quota],
        write: Write,
        clock: IReactorTime,
        run: Run,
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
        """Have a write charged: at once, or in the next round."""
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
            except Exception:  # noqa: BLE001 - they must hear of it, and those who come later must be served
                self._log.failure("the quotas of {namespace} cannot be evaluated", namespace=self._namespace)
                _refuse_all(together, InternalError.of("the quotas cannot be evaluated"))
        self._is_working = False
        self._closed(self._namespace)

    async def _evaluate(self, waiters: Sequence[Waiter]) -> None:
        """Charge those that fit, in the order of their coming, until all of it is stored.

        Quotas that others have written meanwhile are looked at again; those that could be written are done with. On a
        store that others write too, nobody is refused by what the cache has until it is as new as the store.
        """
        done: set[str] = set()
        is_fresh, lost = False, {""}
        for _ in range(MAX_ROUNDS):
            quotas = await self._quotas.ready(self._namespace, self._run)
            tried = Round([pair for pair in quotas if pair[1].name not in done])
            await self._try(tried, waiters)
            if tried.refuses and not is_fresh and (wait := self._due()) is not None:
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
            if (wait := self._due()) is not None:
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

    def _due(self) -> Awaitable[None] | None:
        return self._quotas.stored.cache.freshness.due(MOST_RECENT)


def _refuse_all(waiters: Sequence[Waiter], why: Exception) -> None:
    for waiter in waiters:
        waiter.refuse(why)
