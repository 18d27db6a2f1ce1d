"""`/debug/simulation` without a server behind it (reference SIM-3)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.paths import Paths
from orchtw.errors import BadRequest, ServiceUnavailable
from orchtw.request import Peer, Request
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.endpoint import PATH, SimulationEndpoint


class SimulationEndpointTests(SynchronousTestCase):
    """Requests and their answers."""

    def setUp(self) -> None:
        self.clock = SimulationClock(Clock(), 0.0, 0.0)
        self.waiting: list[Deferred[None]] = []
        self.waits = False
        self.works = True
        self.endpoint = SimulationEndpoint(self.clock, self.settle, lambda: self.works)

    def settle(self) -> Deferred[None]:
        """Nothing to wait for, unless the test says so."""
        if not self.waits:
            return succeed(None)
        self.waiting.append(Deferred())
        return self.waiting[-1]

    def ask(self, body: Any = None) -> Deferred[Any]:
        """The response to an advance, or with the time."""
        method = "GET" if body is None else "POST"
        sent = body if isinstance(body, bytes) else orjson.dumps(body)
        request = Request(method=method, path=PATH, body=sent, peer=Peer(address="", port=0))
        handled: Deferred[Any] = Deferred.fromCoroutine(Paths([self.endpoint])(request))
        return handled.addCallback(lambda response: orjson.loads(response.body))

    def test_time(self) -> None:
        """The simulated time and its speed are shown."""
        self.assertEqual(self.successResultOf(self.ask()), {"now": "1970-01-01T00:00:00Z", "speed": 0.0})

    def test_advance(self) -> None:
        """An advance is answered with the new time."""
        self.assertEqual(self.successResultOf(self.ask({"advance": 3600}))["now"], "1970-01-01T01:00:00Z")
        self.assertEqual(self.successResultOf(self.ask({"advance": 0.5}))["now"], "1970-01-01T01:00:00Z")

    def test_one_at_a_time(self) -> None:
        """A second advance begins when the first has ended."""
        self.waits = True
        first, second = self.ask({"advance": 1}), self.ask({"advance": 1})
        self.waiting.pop().callback(None)
        self.successResultOf(first)
        self.assertNoResult(second)
        self.waiting.pop().callback(None)
        self.assertEqual(self.successResultOf(second)["now"], "1970-01-01T00:00:02Z")

    def test_elsewhere(self) -> None:
        """A process that does not run the controllers refuses an advance, which would do nothing: 503."""
        self.works = False
        self.failureResultOf(self.ask({"advance": 60}), ServiceUnavailable)
        self.assertEqual(self.successResultOf(self.ask())["now"], "1970-01-01T00:00:00Z")

    def test_refused(self) -> None:
        """Anything but a number of seconds, up to a year, is a 400 with the reason."""
        for body, reason in (
            (b"{", "the body is not JSON"),
            ({"advance": 1, "more": 2}, '"advance"'),
            ([], '"advance"'),
            ({"advance": -1}, "from 0 to"),
            ({"advance": True}, "from 0 to"),
            ({"advance": 1e12}, "from 0 to"),
        ):
            self.assertIn(reason, self.failureResultOf(self.ask(body), BadRequest).value.message)
