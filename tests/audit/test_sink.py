"""Several backends, modes and truncation (reference AUDIT-11, AUDIT-13)."""

from __future__ import annotations

from collections.abc import Awaitable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.counts import Counts
from orchtw.audit.event import Event
from orchtw.audit.sink import Lenient, Truncating, Union
from tests.audit.events import Kept, members, numbered


class SinkTests(SynchronousTestCase):
    """`Union`, `Lenient` and `Truncating`."""

    def test_several(self) -> None:
        """Each backend gets each event; it is stored when it is with all of them."""
        first, second = Kept(), Kept()
        union = Union([first, second])
        union.start()
        self.assertIs(union.process(numbered(1)), True)
        second.answer = False
        self.assertIs(union.process(numbered(2)), False)
        second.answer = Deferred()
        waiting = union.process(numbered(3))
        assert isinstance(waiting, Awaitable)
        result: Deferred[bool] = Deferred.fromCoroutine(waiting)  # type: ignore[arg-type]
        self.assertNoResult(result)
        second.answer.callback(True)
        self.assertIs(self.successResultOf(result), True)
        self.successResultOf(Deferred.fromCoroutine(union.stop()))
        for each in (first, second):
            self.assertEqual((len(each.events), each.calls), (3, ["start", "stop"]))

    def test_lenient(self) -> None:
        """In mode blocking a request waits, and does not fail."""
        kept = Kept(False)
        lenient = Lenient(kept)
        lenient.start()
        self.assertIs(lenient.process(numbered(1)), True)
        kept.answer = Deferred()
        waiting: Deferred[bool] = Deferred.fromCoroutine(lenient.process(numbered(2)))  # type: ignore[arg-type]
        self.assertNoResult(waiting)
        kept.answer.callback(False)
        self.assertIs(self.successResultOf(waiting), True)
        self.successResultOf(Deferred.fromCoroutine(lenient.stop()))
        self.assertEqual(kept.calls, ["start", "stop"])

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


class CountsTests(SynchronousTestCase):
    """`Counts`."""

    def test_families(self) -> None:
        """The families of the release, with their labels (reference METRIC-1)."""
        counts, registry = Counts(Clock()), CollectorRegistry()
        registry.register(counts)
        counts.events, counts.rejected = 5, 1
        counts.levels[1] += 3
        counts.lost("log", 2, "No space left on device")
        counts.waiting["log"] = lambda: 7
        text = generate_latest(registry).decode()
        for sample in (
            "apiserver_audit_event_total 5.0",
            'apiserver_audit_error_total{plugin="log"} 2.0',
            'apiserver_audit_level_total{level="Metadata"} 3.0',
            "apiserver_audit_requests_rejected_total 1.0",
            'apiserver_audit_waiting_bytes{backend="log"} 7.0',
        ):
            self.assertIn(f"{sample}\n", text)
        self.assertNotIn('level="None"', text)
