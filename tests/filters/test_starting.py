"""Requests that come before the server has started."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ServiceUnavailable
from orchtw.filters.shutting_down import Doors
from orchtw.filters.starting import Starting
from orchtw.request import Peer, Request, Response


async def health(_request: Request, path: str) -> Response:
    return Response(body=path.encode())


async def proceed(_request: Request) -> Response:
    return Response(body=b"served")


class StartingTests(SynchronousTestCase):
    """Waiting for the start of the server (`Starting`, reference OPS-13)."""

    def setUp(self) -> None:
        self.doors = Doors()
        self.stage = Starting(self.doors, ["/livez", "/readyz", "/readyz/informer-sync"], health)

    def answer(self, path: str, method: str = "GET") -> Deferred[Response]:
        request = Request(method=method, path=path, peer=Peer(address="", port=0))
        return Deferred.fromCoroutine(self.stage.handle(request, proceed))

    def test_health_checks(self) -> None:
        """They are answered from the beginning, each by its path."""
        for path in ("/livez", "/readyz", "/readyz/informer-sync"):
            self.assertEqual(self.successResultOf(self.answer(path)).body, path.encode())

    def test_others_wait(self) -> None:
        """Everything else is told to come again."""
        for path in ("/api/v1/pods", "/readyz/none", "/metrics"):
            error = self.failureResultOf(self.answer(path), ServiceUnavailable).value
            self.assertEqual(error.retry_after_s, 1)
        self.failureResultOf(self.answer("/livez", "POST"), ServiceUnavailable)

    def test_open(self) -> None:
        """Once the start is over everything is served as always."""
        self.doors.open = True
        self.assertEqual(self.successResultOf(self.answer("/livez")).body, b"served")
