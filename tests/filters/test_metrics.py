"""The stage that counts requests (reference METRIC-5)."""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.flow_control import too_many_requests
from orchtw.filters.metrics import MetricsStage
from orchtw.filters.panic_recovery import PanicRecovery
from orchtw.filters.timeout import TimeoutStage
from orchtw.metrics.registry import Registry
from orchtw.metrics.requests import RequestMetrics
from orchtw.request import SHORT_BYTES, Ending, Request, Response
from tests.filters.test_screen import refuse
from tests.metrics.asked import asked, served, shown

MAPS = "/api/v1/namespaces/ns/configmaps"
TOTAL, DURATIONS = "apiserver_request_total", "apiserver_request_duration_seconds"
RUNNING, ABORTS = "apiserver_longrunning_requests", "apiserver_request_aborts_total"


class StageTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.registry = Registry()
        self.metrics = RequestMetrics(self.registry, served)
        self.stage = MetricsStage(self.metrics, self.clock.seconds)
        self.answer: Deferred[Response] = Deferred()

    async def proceed(self, _request: Request) -> Response:
        return await self.answer

    def handle(self, request: Request) -> Deferred[Response]:
        return Deferred.fromCoroutine(self.stage.handle(request, self.proceed))

    def codes(self) -> list[str]:
        return [values[-1] for values in shown(self.registry, TOTAL)]

    def test_answered(self) -> None:
        """An answer that is sent at once is counted at once, with its time and size."""
        waiting = self.handle(asked("GET", f"{MAPS}/a"))
        self.clock.advance(3)
        self.answer.callback(Response(code=404, body=b"x" * 2000))
        self.successResultOf(waiting)
        self.assertEqual(self.codes(), ["404"])
        [[_, durations]] = [pair for pair in self.metrics.durations.series()]
        [[_, sizes]] = [pair for pair in self.metrics.sizes.series()]
        self.assertEqual((durations.total, sizes.total), (3, 2000))

    def test_long_answers(self) -> None:
        """A long answer is counted when it has been sent, as an abort too where it could not be."""
        pieces, whole = [b"a" * SHORT_BYTES, b"b"], bytes(SHORT_BYTES + 1)
        for body, ending, aborts in (
            (pieces, Ending.COMPLETE, 0), (pieces, Ending.CLIENT_GONE, 1), (whole, Ending.COMPLETE, 0)
        ):  # fmt: skip
            self.setUp()
            self.answer.callback(Response(body=body))
            response = self.successResultOf(self.handle(asked("GET", MAPS)))
            self.assertEqual(self.codes(), [])
            response.end(ending)
            self.assertEqual((self.codes(), sum(shown(self.registry, ABORTS).values())), (["200"], aborts))
            [[_, sizes]] = [pair for pair in self.metrics.sizes.series()]
            self.assertEqual(sizes.total, SHORT_BYTES + 1)

    def test_no_room(self) -> None:
        """A long answer in whose place a 429 is sent is counted as that, and is not an abort."""
        self.answer.callback(Response(body=bytes(SHORT_BYTES + 1)))
        response = self.successResultOf(self.handle(asked("GET", MAPS)))
        response.end(Ending.NO_ROOM)
        self.assertEqual((self.codes(), sum(shown(self.registry, ABORTS).values())), (["429"], 0))

    def test_streams(self) -> None:
        """A watch is open until its end, and is counted then, however it ended."""
        stream: Any = object()
        self.answer.callback(Response(stream=stream))
        response = self.successResultOf(self.handle(asked("GET", f"{MAPS}?watch=1")))
        self.assertEqual((list(shown(self.registry, RUNNING).values()), self.codes()), ([1], []))
        self.clock.advance(7)
        response.end(Ending.CLIENT_GONE)
        self.assertEqual((shown(self.registry, RUNNING), shown(self.registry, ABORTS)), ({}, {}))
        self.assertEqual(self.codes(), ["200"])
        [[_, durations]] = [pair for pair in self.metrics.durations.series()]
        self.assertEqual(durations.total, 7)

    def test_holds_nothing(self) -> None:
        """Until the end of a watch neither its request nor its answer is held here."""
        stream: Any = object()
        self.answer.callback(Response(stream=stream))
        request = asked("GET", f"{MAPS}?watch=1")
        before = sys.getrefcount(request)
        response = self.successResultOf(self.handle(request))
        self.assertEqual((len(response.listeners or ()), sys.getrefcount(request)), (1, before))

    def test_client_gone(self) -> None:
        """A read whose client leaves has no answer: it is an abort."""
        waiting = self.handle(asked("GET", f"{MAPS}/a"))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertEqual((sum(shown(self.registry, ABORTS).values()), self.codes()), (1, []))

    def test_given_up(self) -> None:
        """A write that takes too long is a termination with its code; that it ended later is counted as well."""
        timeout = TimeoutStage(self.clock, 60.0, self.metrics.ended_late)
        recovery = PanicRecovery(refuse)

        async def inner(request: Request) -> Response:
            return await timeout.handle(request, self.proceed)

        async def outer(request: Request) -> Response:
            return await recovery.handle(request, inner)

        waiting = Deferred.fromCoroutine(self.stage.handle(asked("POST", MAPS), outer))
        self.clock.advance(60)
        self.assertEqual(self.successResultOf(waiting).code, 504)
        [(labels, count)] = shown(self.registry, "apiserver_request_terminations_total").items()
        self.assertEqual((labels[0], labels[-1], count), ("POST", "504", 1))
        self.answer.callback(Response())
        self.assertEqual(
            shown(self.registry, "apiserver_request_post_timeout_total"), {("timeout-handler", "ok"): 1}
        )

    def test_no_place(self) -> None:
        """A request that finds no place is a termination (reference METRIC-10)."""

        async def refused(request: Request) -> Response:
            return too_many_requests(request)

        self.successResultOf(Deferred.fromCoroutine(self.stage.handle(asked("GET", MAPS), refused)))
        [(labels, count)] = shown(self.registry, "apiserver_request_terminations_total").items()
        self.assertEqual((labels[0], labels[-1], count), ("LIST", "429", 1))

    def test_writes(self) -> None:
        """Writes of objects are measured by what becomes of unknown fields; deletions and reads are not."""
        self.answer.callback(Response())
        for method in ("GET", "DELETE", "PUT"):
            self.successResultOf(self.handle(asked(method, f"{MAPS}/a")))
        found = shown(self.registry, "field_validation_request_duration_seconds")
        self.assertEqual(found, {("Warn", "true"): 1})
