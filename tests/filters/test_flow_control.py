"""Priority and fairness, and the plain limits, as stages."""
# covers: orchtw.flowcontrol.control, orchtw.flowcontrol.dumps, orchtw.flowcontrol.exposition
# covers: orchtw.flowcontrol.queued

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import NotFound, Timeout
from orchtw.filters.common_headers import CommonHeaders
from orchtw.filters.flow_control import PriorityAndFairness
from orchtw.filters.max_in_flight import MaxInFlight
from orchtw.filters.timeout import TimeoutStage
from orchtw.flowcontrol import dumps
from orchtw.flowcontrol.control import FlowControl
from orchtw.flowcontrol.exposition import FlowMetrics, in_flight_families
from orchtw.flowcontrol.starts import LOOK_EVERY, SLICE_S
from orchtw.flowcontrol.stats import InFlight
from orchtw.flowcontrol.work_estimator import Work
from orchtw.request import Ending, Peer, Request, RequestInfo, Response, UserInfo
from orchtw.wire.objects import Object
from tests.flowcontrol.configured import Configured, level, schema
from tests.metrics.shown import sample

ADMINISTRATORS = "system:masters"


def info(verb: str = "get", **more: Any) -> RequestInfo:
    """Of a request for pods."""
    return RequestInfo(is_resource=True, verb=verb, path="/api/v1/pods", resource="pods", namespace="a", **more)


class Wide(Work):
    """Work of as many seats as the name of the object says."""

    def __init__(self) -> None:
        super().__init__(cast(Any, None))

    def seats(self, request: Request, info: RequestInfo) -> int:
        return int(info.name or 1)

    def lingers_s(self, info: RequestInfo) -> float:
        return 0.5 if info.verb == "update" else 0.0


class Handler:
    """The rest of the line: a request is answered when the test says so."""

    def __init__(self) -> None:
        self.running: list[Deferred[Response]] = []

    async def __call__(self, _request: Request) -> Response:
        running: Deferred[Response] = Deferred()
        self.running.append(running)
        return await running


class FlowControlTests(SynchronousTestCase):
    """A level of two seats with a queue of two for each user, unless a test says otherwise."""

    def configure(self, low: Object, total: int = 100) -> None:
        # The level catch-all has five shares.
        live = Configured([schema("a", 500, "low")], [low], total)
        self.clock = Clock()
        self.control = FlowControl(live, Wide(), self.clock, 60.0, lambda: 1.0)
        self.stage = PriorityAndFairness(self.control)
        self.handler = Handler()

    def setUp(self) -> None:
        self.configure(level("low", shares=5, queues=1, hand=1, length=2), 4)

    def request(
        self, what: RequestInfo | None = None, user: str = "alice", *groups: str, query: str = ""
    ) -> Request:
        what = what or info()
        return Request(
            method="GET" if what.verb in ("get", "list", "watch") else "POST",
            path=what.path,
            query=query,
            peer=Peer(address="", port=0),
            info=what,
            user=UserInfo(name=user, groups=(*groups, "system:authenticated")),
        )

    def ask(self, *arguments: Any, **more: Any) -> Deferred[Response]:
        made = bool(arguments) and isinstance(arguments[0], Request)
        request = arguments[0] if made else self.request(*arguments, **more)
        return Deferred.fromCoroutine(self.stage.handle(request, self.handler))

    def answer(self, response: Response | None = None, number: int = 0) -> None:
        """Answer a request; who waits begins in the next turn."""
        self.handler.running.pop(number).callback(response or Response(body=b"x"))
        self.clock.advance(0)

    def metric(self, name: str, **labels: str) -> float | None:
        in_flight = in_flight_families(self.control.in_flight, self.clock.seconds)
        return sample((*FlowMetrics(self.control.live).families(), *in_flight), name, **labels)

    def of_low(self, name: str, **labels: str) -> float | None:
        return self.metric(f"apiserver_flowcontrol_{name}", priority_level="low", flow_schema="a", **labels)

    def test_seats(self) -> None:
        """Requests beyond the seats wait, and begin in their order (reference FLOW-4)."""
        answers = [self.ask() for _ in range(4)]
        self.assertEqual(len(self.handler.running), 2)
        self.answer()
        self.assertEqual(len(self.handler.running), 2)
        self.answer()
        self.answer()
        self.answer()
        self.assertEqual([self.successResultOf(each).code for each in answers], [200] * 4)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_queue_full(self) -> None:
        """A full queue is a 429 with Retry-After in plain text (reference ERR-35, FLOW-4)."""
        for _ in range(4):
            self.ask()
        refused = self.successResultOf(self.ask())
        self.assertEqual((refused.code, refused.body), (429, b"Too many requests, please try again later.\n"))
        self.assertEqual(dict(refused.headers)["Retry-After"], "1")
        self.assertEqual(self.of_low("rejected_requests_total", reason="queue-full"), 1)
        self.assertEqual(self.metric("apiserver_dropped_requests_total", request_kind="readOnly"), 1)

    def test_reject(self) -> None:
        """A level without queues refuses a request that finds no free seat."""
        self.configure(level("low", shares=5, queues=0), 4)
        for _ in range(2):
            self.ask()
        self.assertEqual(self.successResultOf(self.ask(info("create"))).code, 429)
        self.assertEqual(self.of_low("rejected_requests_total", reason="concurrency-limit"), 1)
        self.assertEqual(self.metric("apiserver_dropped_requests_total", request_kind="mutating"), 1)

    def test_time_out(self) -> None:
        """A request that has waited for a quarter of its timeout is rejected with 429 (reference FLOW-4)."""
        self.ask(), self.ask()
        waiting, hurried = self.ask(), self.ask(query="timeout=20s")
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(hurried).code, 429)
        self.assertNoResult(waiting)
        self.clock.advance(10)
        self.assertEqual(self.successResultOf(waiting).code, 429)
        self.assertEqual(self.of_low("rejected_requests_total", reason="time-out"), 2)
        self.assertEqual(self.of_low("request_wait_duration_seconds_count", execute="false"), 2)
        self.assertEqual(self.of_low("current_inqueue_requests"), 0)

    def test_client_gone(self) -> None:
        """A queued request leaves the queue when its client disconnects, a write too (reference FLOW-14)."""
        self.ask(), self.ask()
        read = self.ask()
        write = self.request(info("create"))
        answer = Deferred.fromCoroutine(
            TimeoutStage(self.clock, 60.0).handle(write, lambda request: self.stage.handle(request, self.handler))
        )
        self.assertTrue(write.ends_with_client)
        self.assertEqual(self.of_low("current_inqueue_requests"), 2)
        for waiting in (read, answer):
            waiting.cancel()
            self.failureResultOf(waiting, CancelledError)
        self.assertEqual(self.of_low("current_inqueue_requests"), 0)
        self.assertEqual(self.of_low("rejected_requests_total", reason="cancelled"), 2)
        self.answer()
        self.answer()
        self.assertEqual((self.handler.running, self.clock.getDelayedCalls()), ([], []))

    def test_deadline(self) -> None:
        """A write whose timeout passes in the queue is never begun (reference LIMIT-2)."""
        self.ask(), self.ask()
        write = self.request(info("create"))
        timeout = TimeoutStage(self.clock, 1.0)
        answer = Deferred.fromCoroutine(timeout.handle(write, lambda each: self.stage.handle(each, self.handler)))
        self.clock.advance(1)
        self.failureResultOf(answer, Timeout)
        self.answer()
        self.answer()
        self.assertEqual((self.handler.running, self.of_low("current_inqueue_requests")), ([], 0))

    def test_begun_writes_go_on(self) -> None:
        """A write that has begun runs to its end though its client leaves."""
        write = self.request(info("create"))
        self.ask(write)
        self.assertFalse(write.ends_with_client)

    def test_users(self) -> None:
        """Another user's request does not wait behind all of one user's (reference FLOW-4)."""
        self.configure(level("low", shares=5, queues=64, hand=1, length=50), 4)
        for _ in range(12):
            self.ask()
        modest = self.ask(None, "bob")
        self.answer()
        self.answer()
        self.answer(number=-1)
        self.assertEqual(self.successResultOf(modest).code, 200)

    def test_kept_seat(self) -> None:
        """With ten seats and more a user who has none never waits for one who has many (reference FLOW-9)."""
        self.configure(level("low", shares=5, queues=64, hand=1, length=50), 40)
        for _ in range(40):
            self.ask()
        self.assertEqual(len(self.handler.running), 18)
        self.ask(None, "bob")
        self.assertEqual(len(self.handler.running), 19)

    def test_turns(self) -> None:
        """When a crowd has taken its time, others wait for their turn, administrators do not (reference FLOW-10)."""
        self.configure(level("low", shares=5, queues=64, hand=1, length=50), 1000)
        for _ in range(LOOK_EVERY):
            self.ask()
        self.clock.rightNow += SLICE_S
        begun = len(self.handler.running)
        late, gone = self.ask(), self.ask(info("create"), "bob")
        self.ask(None, "root", ADMINISTRATORS)
        self.assertEqual(len(self.handler.running), begun + 1)
        gone.cancel()
        self.failureResultOf(gone, CancelledError)
        self.clock.advance(0)
        self.assertEqual(len(self.handler.running), begun + 2)
        self.assertNoResult(late)

    def test_exempt(self) -> None:
        """Administrators never wait; they are counted (reference FLOW-7)."""
        for _ in range(100):
            self.ask(None, "root", ADMINISTRATORS)
        self.assertEqual(len(self.handler.running), 100)
        labels = {"priority_level": "exempt", "flow_schema": "exempt"}
        self.assertEqual(self.metric("apiserver_flowcontrol_current_executing_requests", **labels), 100)
        self.assertEqual(self.metric("apiserver_current_inflight_requests", request_kind="readOnly"), 100)

    def test_long_running(self) -> None:
        """Of long-running requests only watches take a seat, while they begin (reference FLOW-1)."""
        for _ in range(10):
            self.ask(info(subresource="log"))
        self.assertEqual(len(self.handler.running), 10)
        self.handler.running.clear()
        watches = [self.ask(info("watch")) for _ in range(3)]
        self.assertEqual(len(self.handler.running), 2)
        self.answer(Response(stream=cast(Any, object())))
        self.assertEqual(self.successResultOf(watches[0]).code, 200)
        self.assertEqual(len(self.handler.running), 2)

    def test_answers_that_take_time(self) -> None:
        """A long answer keeps its seats until it has been sent, or its request's time is over (reference FLOW-11)."""
        long, longer = self.ask(), self.ask()
        self.ask()
        for number in (0, 0):
            self.answer(Response(body=[b"a", b"b"]), number)
        self.assertEqual(len(self.handler.running), 0)
        self.successResultOf(long).end(Ending.COMPLETE)
        self.clock.advance(0)
        self.assertEqual(len(self.handler.running), 1)
        self.clock.advance(60)
        self.assertEqual(self.of_low("request_concurrency_in_use"), 1)
        self.successResultOf(longer).end(Ending.COMPLETE)
        self.assertEqual(self.of_low("request_concurrency_in_use"), 1)

    def test_watched_writes(self) -> None:
        """A write with many watchers keeps its seats a little longer than its answer (reference FLOW-11)."""
        answer = self.ask(info("update", name="2"))
        self.answer()
        self.assertEqual(self.successResultOf(answer).code, 200)
        self.assertEqual(self.of_low("request_concurrency_in_use"), 2)
        self.assertEqual(self.of_low("current_executing_requests"), 0)
        self.clock.advance(0.5)
        self.assertEqual(self.of_low("request_concurrency_in_use"), 0)

    def test_faults(self) -> None:
        """A request that fails gives its seat back, and its answer has the headers too (reference REQ-22)."""
        request = self.request()

        async def refuse(_request: Request) -> Response:
            raise NotFound.generic()

        failed = Deferred.fromCoroutine(self.stage.handle(request, refuse))
        self.failureResultOf(failed, NotFound)
        self.assertEqual(self.of_low("request_concurrency_in_use"), 0)

        async def answered(_request: Request) -> Response:
            return Response(code=404)

        response = self.successResultOf(Deferred.fromCoroutine(CommonHeaders().handle(request, answered)))
        headers = dict(response.headers)
        self.assertEqual(headers["X-Orch-Pf-Flowschema-Uid"], "uid-a")
        self.assertEqual(headers["X-Orch-Pf-Prioritylevel-Uid"], "uid-low")

    def test_a_level_that_goes(self) -> None:
        """Requests queued in a removed level are served; the level is forgotten with the last of them (FLOW-12)."""
        live = cast(Configured, self.control.live)
        for _ in range(3):
            self.ask()
        live.remove(level("low"))
        self.assertFalse(live.has_level("low"))
        rows = {row[0]: row for row in dumps.priority_levels(live)}
        self.assertEqual(rows["low"][2:], ("false", "true", "1", "2"))
        for _ in range(3):
            self.answer()
        live.put(level("other"))
        live.settled()
        self.assertNotIn("low", live.levels)

    def test_dumps(self) -> None:
        """The dump tables show levels, queues and waiting requests, with names on demand (reference FLOW-13)."""
        for _ in range(3):
            self.ask(info("list", version="v1"))
        live = self.control.live
        levels = dumps.table(dumps.priority_levels(live)).decode().splitlines()
        self.assertEqual(
            levels[0],
            "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests",
        )
        self.assertIn("exempt,            <none>,       <none>, <none>,      <none>,          <none>", levels)
        self.assertIn("low,               1,            false,  false,       1,               2", levels)
        row = next(row for row in dumps.queues(live) if row[0] == "low")
        self.assertEqual(row, ("low", "0", "1", "0", "0", "0.00000000ss", "1", "1", "0.00300000ss"))
        _, row = dumps.requests(live, details=True)
        stamp = "1970-01-01T00:00:01.000000Z"
        self.assertEqual(row[:9], ("low", "a", "0", "0", "alice", stamp, "1", "0", "0s"))
        self.assertEqual(row[9:], ("alice", "list", "/api/v1/pods", "a", "", "v1", "pods", ""))

    def test_stop(self) -> None:
        """Nothing is left in the reactor when the service stops."""
        self.ask()
        self.control.startService()
        self.answer(Response(body=[b"a"]))
        self.control.stopService()
        self.assertEqual(self.clock.getDelayedCalls(), [])


class MaxInFlightTests(SynchronousTestCase):
    """The plain limits (reference FLOW-1)."""

    def setUp(self) -> None:
        self.in_flight = InFlight()
        self.handler = Handler()
        self.stage = MaxInFlight(2, 1, ADMINISTRATORS, self.in_flight, Clock().seconds)

    def ask(self, what: RequestInfo, *groups: str) -> Deferred[Response]:
        request = Request(
            method="GET", path="/", peer=Peer(address="", port=0), info=what, user=UserInfo(name="x", groups=groups)
        )
        return Deferred.fromCoroutine(self.stage.handle(request, self.handler))

    def test_limits(self) -> None:
        """Reads and writes have limits of their own; beyond, 429."""
        for verb in ("get", "list", "create"):
            self.assertNoResult(self.ask(info(verb)))
        for verb in ("get", "delete"):
            self.assertEqual(self.successResultOf(self.ask(info(verb))).code, 429)
        self.assertEqual(self.in_flight.dropped, {"readOnly": 1, "mutating": 1})
        self.handler.running[0].callback(Response())
        self.assertNoResult(self.ask(info()))

    def test_exceptions(self) -> None:
        """Administrators are not refused, and long-running requests are not counted."""
        for _ in range(3):
            self.assertNoResult(self.ask(info("watch")))
            self.assertNoResult(self.ask(info("create"), ADMINISTRATORS))

    def test_no_limit(self) -> None:
        """A limit of 0 means no limit."""
        self.stage = MaxInFlight(0, 0, ADMINISTRATORS, self.in_flight, Clock().seconds)
        for _ in range(1000):
            self.assertNoResult(self.ask(info("create")))

    def test_answers_that_take_time(self) -> None:
        """A long answer counts until it has been sent."""
        answer = self.ask(info("create"))
        self.handler.running[0].callback(Response(body=[b"a"]))
        self.assertEqual(self.successResultOf(self.ask(info("create"))).code, 429)
        self.successResultOf(answer).end(Ending.COMPLETE)
        self.assertNoResult(self.ask(info("create")))
