"""Requests served while the server shuts down (reference OPS-14)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.goaway import GoAway
from orchtw.filters.shutting_down import TEXT, Doors, ShuttingDown
from orchtw.request import Peer, Request, Response
from tests.serving.edge_doubles import RecordedStream


class ShuttingDownTests(SynchronousTestCase):
    """Rejection of requests at shutdown (`ShuttingDown`)."""

    def answer(self, path: str, *, closed: bool = True, agent: str = "curl") -> Response:
        """Return the response to such a request."""

        async def proceed(_request: Request) -> Response:
            return Response(body=b"served")

        request = Request(method="GET", path=path, headers={"user-agent": agent}, peer=Peer(address="", port=0))
        stage = ShuttingDown(Doors(closed), "orch-apiserver/")
        return self.successResultOf(Deferred.fromCoroutine(stage.handle(request, proceed)))

    def test_turned_away(self) -> None:
        """Once the doors are closed a request is a 429 in plain text, and its connection's last."""
        answer = self.answer("/api/v1/pods")
        self.assertEqual((answer.code, answer.body, answer.last), (429, TEXT, True))
        self.assertEqual(dict(answer.headers)["Retry-After"], "5")
        self.assertEqual(self.answer("/api/v1/pods", closed=False).body, b"served")

    def test_exempt(self) -> None:
        """Health checks, metrics and API servers' own requests are served to the end."""
        for path in ("/readyz", "/livez/ping", "/healthz", "/metrics"):
            self.assertEqual(self.answer(path).body, b"served")
        self.assertEqual(self.answer("/api/v1/pods", agent="orch-apiserver/v1.24.0").body, b"served")


class GoAwayTests(SynchronousTestCase):
    """Closing of connections by chance (`GoAway`, reference LIMIT-17)."""

    def last(self, drawn: float, response: Response) -> bool:
        """Report whether this response is the last of its connection."""

        async def proceed(_request: Request) -> Response:
            return response

        request = Request(method="GET", path="/", peer=Peer(address="", port=0))
        made = Deferred.fromCoroutine(GoAway(0.02, lambda: drawn).handle(request, proceed))
        return self.successResultOf(made).last

    def test_chance(self) -> None:
        """The connection closes where the number drawn is below the chance; never behind a watch."""
        self.assertTrue(self.last(0.019, Response()))
        self.assertFalse(self.last(0.02, Response()))
        self.assertFalse(self.last(0.0, Response(stream=RecordedStream())))
