"""A client can forge neither fields nor lines of the request log (reference OPS-18)."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from orchtw.filters.request_log import LONGEST, RequestLog, shown
from orchtw.logs.verbosity import Verbosity
from orchtw.request import MOST_STEPS, Peer, Request, RequestInfo, Response, UserInfo
from tests.serving.edge_doubles import RecordedStream


class RequestLogTests(SynchronousTestCase):
    """Log lines of requests (`RequestLog`)."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.verbosity = 3
        self.taken_s = 0.012
        self.stream: RecordedStream | None = None

    async def proceed(self, _request: Request) -> Response:
        """The rest of the line takes its time."""
        self.clock.advance(self.taken_s)
        return Response(stream=self.stream)

    def line(self, **more: Any) -> str:
        """The one line that is logged."""
        (line,) = self.lines(**more)
        return line

    def lines(self, **more: Any) -> list[str]:
        """All that is logged of a request."""
        lines: list[str] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)
        try:
            request = Request(**{"method": "GET", "path": "/x", "peer": Peer(address="1.2.3.4", port=5), **more})
            request.audit_id = "mine"
            stage = RequestLog(Verbosity(self.verbosity), self.clock.seconds)
            self.successResultOf(Deferred.fromCoroutine(stage.handle(request, self.proceed)))
        finally:
            globalLogPublisher.removeObserver(observe)
        return lines

    def test_slow(self) -> None:
        """A request of half a second and more is traced, with its steps, at any verbosity (reference OPS-26)."""
        self.verbosity, self.taken_s = 0, 0.499
        self.assertEqual(self.lines(), [])
        self.taken_s = 0.7
        info = RequestInfo(is_resource=True, verb="create", path="/x")
        trace = self.line(info=info, steps=[(0.5 + self.clock.seconds(), 'Object "stored"')])
        name = trace.partition(":")[0]
        first, step, last = trace.split("\n")
        what = 'url:"/x",user-agent:"",audit-id:mine,client:1.2.3.4,accept:""'
        self.assertTrue(first.startswith(f'{name}: "Create" {what} ('), first)
        self.assertTrue(first.endswith(" (total time: 700ms):"), first)
        self.assertRegex(step, rf'^{re.escape(name)}: ---"Object "stored"" 500ms \(\d\d:\d\d:\d\d\.\d\d\d\)$')
        self.assertEqual(last, f"{name}: [700ms] [700ms] END")

    def test_may_be_slow(self) -> None:
        """A request whose duration others determine is not traced."""
        self.verbosity, self.taken_s = 0, 30.0
        self.assertEqual(self.lines(path="/debug/pprof/profile"), [])
        self.assertEqual(self.lines(passed_on=True), [])
        self.stream = RecordedStream()
        self.assertEqual(self.lines(), [])

    def test_steps(self) -> None:
        """A request keeps so many of its steps."""
        request = Request(method="GET", path="/", peer=Peer(address="", port=0))
        for _ in range(MOST_STEPS + 1):
            request.step("again")
        self.assertEqual(len(request.steps or ()), MOST_STEPS)

    def test_line(self) -> None:
        """The line of an ordinary request (reference OPS-18)."""
        self.assertEqual(
            self.line(headers={"user-agent": "kubectl/v1.32.4"}),
            '"HTTP" verb="GET" URI="/x" latency="12.000ms" userAgent="kubectl/v1.32.4" '
            'audit-ID="mine" srcIP="1.2.3.4:5" resp=200',
        )

    def test_flow(self) -> None:
        """Level and schema, and what the request occupied; of exempt ones and refusals what there is of it."""
        info = RequestInfo(is_resource=True, verb="list", path="/x")
        flow: Any = SimpleNamespace(names=("workload-low", "global-default"))
        occupied: Any = SimpleNamespace(limited=True, seats=2, linger_s=0.0, age_s=0.0025)
        names, spent = 'apf_pl="workload-low" apf_fs="global-default"', 'apf_execution_time="2.500ms"'
        for fields, expected in (
            ({}, names),
            ({"occupied": occupied}, f'{names} apf_iseats=2 apf_fseats=0 apf_additionalLatency="0s" {spent}'),
        ):
            self.assertIn(f' srcIP="1.2.3.4:5" {expected} resp=200', self.line(info=info, flow=flow, **fields))
        occupied.linger_s = 0.001
        line = self.line(info=info, flow=flow, occupied=occupied)
        self.assertIn(' apf_iseats=2 apf_fseats=2 apf_additionalLatency="1.000ms" ', line)
        occupied.limited = False
        self.assertIn(f"{names} {spent} resp=200", self.line(info=info, flow=flow, occupied=occupied))
        watch = RequestInfo(is_resource=True, verb="watch", path="/x")
        self.assertIn(' apf_init_latency="2.500ms" ', self.line(info=watch, flow=flow, occupied=occupied))

    def test_impersonation(self) -> None:
        """An impersonating user is logged beside the impersonated one, whatever their names (reference AUTHN-43)."""
        bob, ann = UserInfo(name="bob"), UserInfo(name='ann" x="')
        line = self.line(authenticated=bob, user=ann)
        self.assertTrue(line.endswith(r' resp=200 user="bob" actingAs="ann\" x=\""'), line)
        self.assertTrue(self.line(authenticated=bob, user=bob).endswith(" resp=200"))

    def test_forged_fields(self) -> None:
        """Quotes, backslashes and control characters come out as Go's %q writes them."""
        line = self.line(headers={"user-agent": 'a" resp=500 x="\\\x1b[2J\x85\t'})
        self.assertIn(r'userAgent="a\" resp=500 x=\"\\\x1b[2J\u0085\t" audit-ID', line)
        info = RequestInfo(is_resource=True, verb="get", path="/x")
        self.assertIn(r'URI="/x?a=\"" latency', self.line(query='a="', info=info))

    def test_long_texts(self) -> None:
        """A very long text is cut, and its length is given."""
        self.assertIn(f'URI="/{"x" * (LONGEST - 1)}"...(2001 characters) latency', self.line(path=f"/{'x' * 2000}"))
        self.assertEqual(shown("x" * LONGEST), f'"{"x" * LONGEST}"')
        self.assertEqual(shown("x" * 100_000), f'"{"x" * LONGEST}"...(100000 characters)')
