"""Several backends, modes and truncation (reference AUDIT-11, AUDIT-13)."""
# covers: orchtw.audit.counts

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.buffer import WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.event import Event
from orchtw.audit.sink import WAIT_S, Blocking, SinkUnion, Truncating
from tests.audit.events import Held, Kept, members, numbered
from tests.metrics.shown import text_of


class SinkTests(SynchronousTestCase):
    """Combined and truncating backends (`SinkUnion` and `Truncating`)."""

    def test_several(self) -> None:
        """Each backend gets each event; it is stored when it is with all of them."""
        first, second = Kept(), Kept()
        union = SinkUnion([first, second])
        union.start()
        self.assertIs(union.process(numbered(1)), True)
        second.answer = False
        self.assertIs(union.process(numbered(2)), False)
        second.answer = Deferred()
        waiting = union.process(numbered(3))
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        second.answer.callback(True)
        self.assertIs(self.successResultOf(waiting), True)
        self.successResultOf(Deferred.fromCoroutine(union.stop()))
        for each in (first, second):
            self.assertEqual((len(each.events), each.calls), (3, ["start", "stop"]))

    def test_truncated(self) -> None:
        """A long event loses its objects; one that has none, or is too long without them, is lost."""
        kept, counts = Kept(), Counts(Clock())
        truncating = Truncating(kept, 1000, "audit.orch.io", counts, strict=True)
        truncating.start()
        big = {"x": "y" * 2000}
        for event, stored in (
            (numbered(1), True),
            (Event.of(members(level="Request", requestObject=big)), True),
            (numbered(2, 2000), False),
            (Event.of(members(level="Request", requestObject=big, userAgent="x" * 2000)), False),
        ):
            self.assertIs(truncating.process(event), stored)
        self.assertEqual([each.get("annotations") for each in kept.shown],
                         [None, {"audit.orch.io/truncated": "true"}])
        self.assertEqual(counts.errors, {"truncate": 2})
        self.assertIs(Truncating(kept, 10, "audit.orch.io", counts).process(numbered(1)), True)
        self.successResultOf(Deferred.fromCoroutine(truncating.stop()))


class BlockingTests(SynchronousTestCase):
    """Backends that requests wait for (`Blocking`)."""

    def setUp(self) -> None:
        self.clock, self.held = Clock(), Held()
        self.counts = Counts(self.clock)

    def made(self, *, strict: bool = False, limit_bytes: int = 10_000) -> Blocking:
        room = WaitingEvents("webhook", self.held, self.counts, limit_bytes=limit_bytes)
        return Blocking(backend=self.held, room=room, clock=self.clock, strict=strict)

    def test_lost(self) -> None:
        """A request waits; only in mode blocking-strict does it fail when its event is lost."""
        for strict in (False, True):
            waiting = self.made(strict=strict).process(numbered(1))
            assert isinstance(waiting, Deferred)
            self.assertNoResult(waiting)
            self.held.arrived(False)
            self.assertIs(self.successResultOf(waiting), not strict)

    def test_bounded(self) -> None:
        """Without room an event is lost and counted, and no request waits for it (reference AUDIT-17)."""
        for strict in (False, True):
            self.setUp()
            blocking = self.made(strict=strict, limit_bytes=1000)
            found = [blocking.process(numbered(number)) for number in range(10)]
            waiting = [each for each in found if isinstance(each, Deferred)]
            self.assertTrue(0 < len(waiting) < 5)
            self.assertEqual(found[len(waiting):], [not strict] * (10 - len(waiting)))
            self.assertEqual(self.counts.errors, {"webhook": 10 - len(waiting)})
            self.assertLessEqual(self.counts.waiting["webhook"](), 1000)
            self.held.arrived(True)
            self.assertIsInstance(blocking.process(numbered(11)), Deferred)

    def test_left_alone(self) -> None:
        """A cancelled wait does not cancel the delivery."""
        waiting = self.made().process(numbered(1))
        assert isinstance(waiting, Deferred)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertEqual((self.held.cancelled, self.held.bytes > 0), (0, True))
        self.held.arrived(True)
        self.assertEqual((self.held.bytes, self.counts.errors), (0, {}))

    def test_not_for_ever(self) -> None:
        """A request goes on after a while, or fails in mode blocking-strict; the delivery goes on."""
        for strict in (False, True):
            waiting = self.made(strict=strict).process(numbered(1))
            assert isinstance(waiting, Deferred)
            self.clock.advance(WAIT_S - 1)
            self.assertNoResult(waiting)
            self.clock.advance(1)
            self.assertIs(self.successResultOf(waiting), not strict)
            self.assertEqual(self.held.cancelled, 0)
        self.held.arrived(True)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stopped(self) -> None:
        """It starts and stops its backend."""
        blocking = self.made()
        blocking.start()
        self.successResultOf(Deferred.fromCoroutine(blocking.stop()))
        self.assertEqual(self.held.calls, ["start", "stop"])


class CountsTests(SynchronousTestCase):
    """Metrics of audit events (`Counts`)."""

    def test_families(self) -> None:
        """The families of the release, with their labels (reference METRIC-1)."""
        counts = Counts(Clock())
        counts.events, counts.rejected = 5, 1
        counts.levels[1] += 3
        counts.lost("log", 2, "No space left on device")
        counts.waiting["log"] = lambda: 7
        text = text_of(counts.families())
        for sample in (
            "apiserver_audit_event_total 5",
            'apiserver_audit_error_total{plugin="log"} 2',
            'apiserver_audit_level_total{level="Metadata"} 3',
            "apiserver_audit_requests_rejected_total 1",
            'apiserver_audit_waiting_bytes{backend="log"} 7',
        ):
            self.assertIn(f"{sample}\n", text)
        self.assertNotIn('level="None"', text)
