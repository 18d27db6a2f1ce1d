"""Steady load: its intervals, their reports, and the delays of the program's own timer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import LoopingCall, deferLater

from orchtw.commands.load.deliveries import Ledger
from orchtw.commands.load.report import Period
from orchtw.commands.load.server_usage import ServerUsage
from orchtw.commands.load.statistics import Statistics

SETTLE_S: Final = 10.0
"""Time after the last write in which its event must come."""

TICK_S: Final = 0.1
"""Interval of the timer whose delays show that the program itself is too slow."""

Show = Callable[[Period], None]


class SteadyLoad:
    """Measurement of the load while others make it; `show` gets each interval and then the total."""

    def __init__(
        self, statistics: Statistics, ledger: Ledger, usage: ServerUsage, reactor: Any, show: Show, interval_s: float
    ) -> None:
        self._statistics = statistics
        self._ledger = ledger
        self._usage = usage
        self._reactor = reactor
        self._show = show
        self._interval_s = interval_s
        self._ending: Deferred[None] = Deferred()
        self._begun_s = self._ticked_s = 0.0
        self._reported_s = self._lag_s = self._longest_lag_s = 0.0

    def end_early(self) -> None:
        """End the steady load now."""
        if not self._ending.called:
            self._ending.callback(None)

    async def run(self, duration_s: float) -> None:
        """Report each interval until the time is over."""
        self._statistics.forget()
        self._ledger.take()
        await self._usage.read()
        self._begun_s = self._ticked_s = self._reported_s = self._reactor.seconds()
        timer = LoopingCall(self._tick)
        timer.clock = self._reactor
        timer.start(TICK_S)
        reporting = Deferred.fromCoroutine(self._report_always())
        ending = self._reactor.callLater(duration_s, self.end_early)
        await self._ending
        if ending.active():
            ending.cancel()
        timer.stop()
        reporting.cancel()
        with suppress(CancelledError):
            await reporting
        if self._reactor.seconds() - self._reported_s >= self._interval_s / 2:
            await self._report()

    async def settle(self, busy: Callable[[], bool]) -> None:
        """Wait for the rest of the work and of the events; those that do not come count as lost."""
        until_s = self._reactor.seconds() + SETTLE_S
        while (busy() or self._ledger.outstanding) and self._reactor.seconds() < until_s:
            await deferLater(self._reactor, TICK_S)
        self._ledger.expire(self._reactor.seconds(), 0.0)

    def total(self, skipped: int) -> Period:
        """Return the result of the whole load."""
        self._statistics.take()
        self._ledger.take()
        length_s = self._ticked_s - self._begun_s
        return Period(
            at_s=length_s,
            length_s=length_s,
            figures=self._statistics.total,
            deliveries=self._ledger.total,
            lag_s=max(self._longest_lag_s, self._lag_s),
            skipped=skipped,
            total=True,
        )

    def _tick(self) -> None:
        now_s = self._reactor.seconds()
        self._lag_s = max(self._lag_s, now_s - self._ticked_s - TICK_S)
        self._ticked_s = now_s

    async def _report_always(self) -> None:
        while True:
            await deferLater(self._reactor, max(0.0, self._reported_s + self._interval_s - self._reactor.seconds()))
            await self._report()

    async def _report(self) -> None:
        usage, now_s = await self._usage.read(), self._reactor.seconds()
        self._ledger.expire(now_s)
        period = Period(
            at_s=now_s - self._begun_s,
            length_s=now_s - self._reported_s,
            figures=self._statistics.take(),
            deliveries=self._ledger.take(),
            lag_s=self._lag_s,
            usage=usage,
        )
        self._show(period)
        self._longest_lag_s, self._lag_s = max(self._longest_lag_s, self._lag_s), 0.0
        self._reported_s = now_s
