"""The line of stages: its order, its refusals, and the places that are not taken yet (DESIGN rule 4)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Forbidden, StatusError
from orchtw.filters.chain import ORDER, App, Placed
from orchtw.filters.deadline import Deadline
from orchtw.request import Peer, Request, Response


class Mark:
    """A stage that leaves its place's name on the request, and answers if it is told to."""

    def __init__(self, place: str, answer: Response | Exception | Deferred[None] | None = None) -> None:
        self.place = place
        self.answer = answer

    async def handle(self, request: Request) -> Response | None:
        request.warnings.append(self.place)
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, Deferred):
            await self.answer
            return Response(body=b"late")
        return self.answer


def refuse(request: Request, error: StatusError) -> Response:
    return Response(code=error.code, body=orjson.dumps(error.to_status()))


def request(method: str = "GET", **more: Any) -> Request:
    return Request(method=method, path="/x", peer=Peer(address="1.2.3.4", port=5), **more)


class ChainTests(SynchronousTestCase):
    """`App`."""

    def setUp(self) -> None:
        self.clock = Clock()

    def app(self, *stages: Mark) -> App:
        return App([Placed(stage.place, stage) for stage in stages], refuse, Deadline(self.clock, 60.0))

    def test_every_place_is_passed_in_order(self) -> None:
        """A stage may stand at each place, and each is passed once, in the written order."""
        asked = request()
        last = Mark(ORDER[-1], Response())
        self.successResultOf(Deferred.fromCoroutine(self.app(*map(Mark, ORDER[:-1]), last)(asked)))
        self.assertEqual(asked.warnings, list(ORDER))

    def test_wrong_order(self) -> None:
        """Stages that stand in another order, or at an unknown place, are a fault of the composition."""
        self.assertRaises(ValueError, self.app, Mark("authorization"), Mark("authentication"))
        self.assertRaises(ValueError, self.app, Mark("nowhere"))

    def test_first_answer_ends_it(self) -> None:
        """What one stage answers, no later one sees."""
        asked = request()
        app = self.app(Mark("authentication", Response(code=204)), Mark("handler", Response()))
        response = self.successResultOf(Deferred.fromCoroutine(app(asked)))
        self.assertEqual((response.code, asked.warnings), (204, ["authentication"]))

    def test_refusal(self) -> None:
        """A StatusError becomes its Status; warnings and the audit id go with it."""
        app = self.app(Mark("authorization", Forbidden.path("no")))
        response = self.successResultOf(Deferred.fromCoroutine(app(request(headers={"audit-id": "mine"}))))
        self.assertEqual(response.code, 403)
        headers = dict(response.headers)
        self.assertEqual((headers["Audit-Id"], headers["Warning"]), ("mine", '299 - "authorization"'))

    def test_fault(self) -> None:
        """Anything else is a 500 with the audit id, logged once with its traceback; the process goes on."""
        app = self.app(Mark("handler", RuntimeError("secret detail")))
        response = self.successResultOf(Deferred.fromCoroutine(app(request())))
        self.assertEqual(response.code, 500)
        self.assertNotIn(b"secret detail", bytes(response.body))
        self.assertIn(dict(response.headers)["Audit-Id"].encode(), bytes(response.body))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_nobody_answers(self) -> None:
        """A request that no stage answers is a 404."""
        response = self.successResultOf(Deferred.fromCoroutine(self.app()(request())))
        self.assertEqual(response.code, 404)

    def test_deadline(self) -> None:
        """A write that takes too long is answered with 504 and runs to its end (supplement C4)."""
        done: Deferred[None] = Deferred()
        answer = Deferred.fromCoroutine(self.app(Mark("handler", done))(request("POST")))
        self.assertNoResult(answer)
        self.clock.advance(60)
        self.assertEqual(self.successResultOf(answer).code, 504)
        done.callback(None)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_in_time(self) -> None:
        """A write that ends in time leaves no timer behind."""
        done: Deferred[None] = Deferred()
        answer = Deferred.fromCoroutine(self.app(Mark("handler", done))(request("POST", query="timeout=5s")))
        self.clock.advance(4)
        done.callback(None)
        self.assertEqual(self.successResultOf(answer).body, b"late")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_asked_timeout(self) -> None:
        """The query's `timeout` shortens the limit."""
        answer = Deferred.fromCoroutine(self.app(Mark("handler", Deferred()))(request("PUT", query="timeout=5s")))
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(answer).code, 504)
