"""A client can forge neither fields nor lines of the request log (reference OPS-18)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.request_log import LONGEST, RequestLog, shown
from orchtw.request import Peer, Request, RequestInfo, Response, UserInfo


class RequestLogTests(SynchronousTestCase):
    """`RequestLog`."""

    def setUp(self) -> None:
        self.clock = Clock()

    async def proceed(self, _request: Request) -> Response:
        """The rest of the line takes 12 ms."""
        self.clock.advance(0.012)
        return Response()

    def line(self, **more: Any) -> str:
        lines: list[str] = []

        def observe(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)
        try:
            request = Request(**{"method": "GET", "path": "/x", "peer": Peer(address="1.2.3.4", port=5), **more})
            request.audit_id = "mine"
            self.successResultOf(Deferred.fromCoroutine(RequestLog(self.clock).handle(request, self.proceed)))
        finally:
            globalLogPublisher.removeObserver(observe)
        (line,) = lines
        return line

    def test_line(self) -> None:
        """The line of an ordinary request (reference OPS-18)."""
        self.assertEqual(
            self.line(headers={"user-agent": "kubectl/v1.32.4"}),
            'HTTP verb="GET" URI="/x" latency="12.000ms" userAgent="kubectl/v1.32.4" '
            'audit-ID="mine" srcIP="1.2.3.4:5" resp=200',
        )

    def test_impersonation(self) -> None:
        """Who acts as somebody else is named beside that one, whatever their names are (reference AUTHN-43)."""
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
        """What is very long is cut, and says how long it was."""
        self.assertEqual(shown("x" * LONGEST), f'"{"x" * LONGEST}"')
        self.assertEqual(shown("x" * 100_000), f'"{"x" * LONGEST}"...(100000 characters)')
