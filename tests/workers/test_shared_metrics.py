"""Questions that processes ask each other."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import TestCase

from orchtw.errors import ServiceUnavailable
from orchtw.logs.verbosity import Verbosity
from orchtw.metrics.registry import Registry
from orchtw.metrics.series import counters
from orchtw.workers.shared_metrics import MetricsExchange


class ExchangeTests(TestCase):
    """An owner, a worker, and a worker that has just gone (reference METRIC-16)."""

    def setUp(self) -> None:
        self.owner = MetricsExchange(0, reactor)
        self.worker = MetricsExchange(1, reactor, self.asked(self.owner))
        self.owner.others = lambda: [self.asked(self.worker), lambda question: fail(ServiceUnavailable("gone"))]
        self.counts = [self.counted(each) for each in (self.owner, self.worker)]

    def asked(self, exchange: MetricsExchange):  # type: ignore[no-untyped-def]
        """Link that asks another process."""
        return lambda question: Deferred.fromCoroutine(exchange.answer(question))

    def counted(self, exchange: MetricsExchange):  # type: ignore[no-untyped-def]
        """A count that a process shows."""
        exchange.registry = Registry()
        count = exchange.registry.add(counters("asked_total", "Questions.")).of()
        count.value = 5
        return count

    async def test_everywhere(self) -> None:
        """The answer of any process covers all processes."""
        for each in (self.owner, self.worker):
            texts = await each.texts(False)
            lines = [text.splitlines()[-1] for text in texts]
            self.assertEqual(lines, [b'asked_total{worker="0"} 5', b'asked_total{worker="1"} 5'])

    async def test_reset(self) -> None:
        """A reset at any process resets all."""
        await self.worker.reset()
        self.assertEqual([each.value for each in self.counts], [0, 0])

    async def test_level(self) -> None:
        """A verbosity set at any process applies to all (reference OPS-19)."""
        logs = self.owner.verbosity, self.worker.verbosity = Verbosity(9), Verbosity(9)
        for level, told in enumerate((self.owner, self.worker)):
            await told.set_level(level)
            self.assertEqual([each.level for each in logs], [level, level])
