"""The time limit of requests (reference LIMIT-2)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Conflict, Timeout
from orchtw.filters.timeout import TimeoutStage
from orchtw.request import Ending, Peer, Request, Response
from orchtw.rules.request_info import parse


class TimeoutStageTests(SynchronousTestCase):
    """Deadlines of requests in the chain (`TimeoutStage`)."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.done: Deferred[Response] = Deferred()
        self.asked = 0

    async def proceed(self, _request: Request) -> Response:
        self.asked += 1
        return await self.done

    def handle(self, method: str = "POST", query: str = "") -> Deferred[Response]:
        request = Request(method=method, path="/x", query=query, peer=Peer(address="", port=0))
        return Deferred.fromCoroutine(TimeoutStage(self.clock, 60.0).handle(request, self.proceed))

    def test_too_late(self) -> None:
        """A write that takes too long is answered with 504 and runs to its end; its own answer is dropped."""
        answer, ended = self.handle(), list[Any]()
        self.assertNoResult(answer)
        self.clock.advance(60)
        self.failureResultOf(answer, Timeout)
        late = Response()
        late.on_end(ended.append)
        self.done.callback(late)
        self.assertEqual((ended, self.clock.getDelayedCalls()), ([Ending.DEADLINE], []))

    def test_late_failures(self) -> None:
        """A refusal after the deadline is dropped; a fault after it is logged."""
        for error, logged in ((Conflict("no"), 0), (RuntimeError("boom"), 1)):
            self.done = Deferred()
            answer = self.handle()
            self.clock.advance(60)
            self.failureResultOf(answer, Timeout)
            self.done.errback(error)
            self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), logged)

    def test_passed_on(self) -> None:
        """A request passed on to another server has no deadline from then on (reference LIMIT-3)."""

        async def proceed(request: Request) -> Response:
            request.passed_on = True
            return await self.done

        request = Request(method="POST", path="/x", peer=Peer(address="", port=0))
        answer = Deferred.fromCoroutine(TimeoutStage(self.clock, 60.0).handle(request, proceed))
        self.clock.advance(3600)
        response = Response()
        self.done.callback(response)
        self.assertIs(self.successResultOf(answer), response)

    def test_in_time(self) -> None:
        """A write that ends in time leaves no timer behind."""
        answer, response = self.handle(query="timeout=5s"), Response()
        self.clock.advance(4)
        self.done.callback(response)
        self.assertIs(self.successResultOf(answer), response)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_end_is_known(self) -> None:
        """A write knows when its time is over; a read has no end (reference HOOK-14)."""
        self.clock.advance(1000)
        for method, query, end_s in (("POST", "", 1060.0), ("PUT", "timeout=5s", 1005.0), ("GET", "", None)):
            request = Request(method=method, path="/x", query=query, peer=Peer(address="", port=0))
            answer = Deferred.fromCoroutine(TimeoutStage(self.clock, 60.0).handle(request, self.proceed))
            answer.addErrback(lambda _: None)
            self.assertEqual(request.ends_at_s, end_s)
            answer.cancel()

    def test_asked_timeout(self) -> None:
        """The query's `timeout` shortens the limit."""
        answer = self.handle("PUT", "timeout=5s")
        self.clock.advance(5)
        self.failureResultOf(answer, Timeout)

    def test_bad_timeout(self) -> None:
        """One that cannot be read is a 400, and nothing is done."""
        self.assertRaises(BadRequest, self.handle, "POST", "timeout=soon")
        self.assertEqual(self.asked, 0)

    def test_late_read(self) -> None:
        """A read that takes too long is answered with 504 and given up, whatever it waits for by then."""
        for method, query, limit_s in (("GET", "", 60), ("HEAD", "timeout=5s", 5)):
            first, given_up, tidied = Deferred[None](), list[bool](), list[bool]()

            async def proceed(_request: Request) -> Response:
                try:
                    await first  # noqa: B023
                    await Deferred(lambda _: given_up.append(True))  # noqa: B023
                finally:
                    tidied.append(True)  # noqa: B023
                return Response()

            request = Request(method=method, path="/api/v1/pods", query=query, peer=Peer(address="", port=0))
            answer = Deferred.fromCoroutine(TimeoutStage(self.clock, 60.0).handle(request, proceed))
            self.clock.advance(4)
            first.callback(None)
            self.clock.advance(limit_s - 5)
            self.assertNoResult(answer)
            self.clock.advance(1)
            self.failureResultOf(answer, Timeout)
            self.assertEqual((request.given_up, given_up, tidied), (True, [True], [True]))

    def test_read_in_time(self) -> None:
        """A read that ends in time, well or not, leaves no timer behind, and one that waits for nothing has none."""
        answer, response = self.handle("GET"), Response()
        self.clock.advance(59)
        self.done.callback(response)
        self.assertIs(self.successResultOf(answer), response)
        self.done = succeed(response)
        self.assertIs(self.successResultOf(self.handle("GET")), response)
        self.done = Deferred()
        answer = self.handle("GET")
        self.done.errback(Conflict("no"))
        self.failureResultOf(answer, Conflict)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_left_read(self) -> None:
        """A read whose client disconnects is cancelled, and does not count as a refusal."""
        answer = self.handle("GET")
        answer.cancel()
        self.failureResultOf(answer, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_long_running(self) -> None:
        """Long-running requests have no limit, and their `timeout` is ignored (reference REQ-18, LIMIT-3)."""
        log = "/api/v1/namespaces/a/pods/b/log?follow=1"
        for path in ("/api/v1/pods?watch=1", "/api/v1/watch/pods?x", log, "/debug/pprof/profile?x"):
            path, _, query = path.partition("?")
            request = Request(method="GET", path=path, query=f"{query}&timeout=soon", peer=Peer(address="", port=0))
            request.info = parse("GET", path, request.params)
            self.done = Deferred()
            answer = Deferred.fromCoroutine(TimeoutStage(self.clock, 60.0).handle(request, self.proceed))
            self.clock.advance(3600)
            self.done.callback(Response())
            self.successResultOf(answer)

    def test_left(self) -> None:
        """A client that leaves before the answer does not hear of it, and the answer's listeners are told so."""
        answer, ended = self.handle("PUT"), list[Any]()
        answer.addErrback(lambda _: None)
        answer.cancel()
        late = Response()
        late.on_end(ended.append)
        self.done.callback(late)
        self.assertEqual((ended, self.clock.getDelayedCalls()), ([Ending.CLIENT_GONE], []))
