"""The line of stages: its order, what a stage may do, and what a refused head passes (reference DESIGN-4)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Forbidden, Unauthorized
from orchtw.filters.chain import ORDER, Placed, Proceed, Stage, declined, line, refused
from orchtw.request import Ending, Peer, Request, Response, UserInfo


class Mark:
    """A stage that leaves its place's name on the request and passes it on."""

    def __init__(self, place: str) -> None:
        self.place = place

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        request.warnings.append(self.place)
        return proceed(request)


class Looker:
    """Stage that records the response of the rest of the chain, and how its sending ended."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        try:
            response = await proceed(request)
        except Forbidden as error:
            self.seen.append(error.code)
            raise
        self.seen.append(response.code)
        response.on_end(self.seen.append)
        return response


class Answering:
    """Stage that answers by itself."""

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        return Response(code=204)


def request(method: str = "GET", **more: Any) -> Request:
    return Request(method=method, path="/x", peer=Peer(address="1.2.3.4", port=5), **more)


async def handler(asked: Request) -> Response:
    asked.warnings.append("handler")
    return Response()


class LineTests(SynchronousTestCase):
    """Assembly of stages into a chain (`line`)."""

    def answer(self, proceed: Proceed, asked: Request) -> Response:
        response: Response = self.successResultOf(Deferred.fromCoroutine(proceed(asked)))
        return response

    def test_every_place_is_passed_in_order(self) -> None:
        """A stage may stand at each place, and each is passed once, in the written order; the handler is last."""
        asked = request()
        self.answer(line([Placed(place, Mark(place)) for place in ORDER], handler), asked)
        self.assertEqual(asked.warnings, [*ORDER, "handler"])

    def test_one_place_twice(self) -> None:
        """Two stages may share a place."""
        asked = request()
        self.answer(line([Placed("audit", Mark("1")), Placed("audit", Mark("2"))], handler), asked)
        self.assertEqual(asked.warnings, ["1", "2", "handler"])

    def test_wrong_order(self) -> None:
        """Stages in another order, or at an unknown place, are a composition error."""
        for places in (("authorization", "authentication"), ("nowhere",)):
            stages = [Placed(place, Mark(place)) for place in places]
            self.assertRaises(ValueError, line, stages, handler)

    def test_answers_itself(self) -> None:
        """A response by one stage is not seen by later stages, but by those around it."""
        asked, looker = request(), Looker()
        stages: list[tuple[str, Stage]] = [
            ("cors", looker), ("authentication", Answering()), ("authorization", Mark("authorization"))
        ]
        response = self.answer(line([Placed(*each) for each in stages], handler), asked)
        self.assertEqual((response.code, asked.warnings, looker.seen), (204, [], [204]))

    def test_sees_the_answer(self) -> None:
        """A stage that awaits the rest sees its answer, and can have itself told when that has been sent."""
        looker = Looker()
        response = self.answer(line([Placed("audit", looker)], handler), request())
        response.end(Ending.COMPLETE)
        self.assertEqual(looker.seen, [200, Ending.COMPLETE])

    def test_sees_a_refusal(self) -> None:
        """A refusal comes through the stages in front of the one that refuses, as it was raised."""

        class Refusing:
            def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
                raise Forbidden.path("no")

        looker = Looker()
        app = line([Placed("audit", looker), Placed("authorization", Refusing())], handler)
        self.failureResultOf(Deferred.fromCoroutine(app(request())), Forbidden)
        self.assertEqual(looker.seen, [403])


class DeclinedTests(SynchronousTestCase):
    """Requests whose body is not read (`declined`)."""

    def test_all_stages(self) -> None:
        """A request whose body is not taken passes every stage before it is refused, so that it is audited."""
        asked, error = request(), Forbidden.path("no")
        answer = Deferred.fromCoroutine(declined(RefusedTests.STAGES, asked, error))
        self.assertIs(self.failureResultOf(answer).value, error)
        self.assertEqual(tuple(asked.warnings), ORDER)


class RefusedTests(SynchronousTestCase):
    """Requests refused outside the chain (`refused`)."""

    STAGES = [Placed(place, Mark(place)) for place in ORDER]

    def test_unknown_user(self) -> None:
        """Wrong credentials pass what stands in front of authentication, then they are refused."""
        asked, error = request(), Unauthorized()
        self.assertIs(self.failureResultOf(self.refused(asked, error)).value, error)
        self.assertEqual(tuple(asked.warnings), ORDER[: ORDER.index("authentication")])

    def test_known_user(self) -> None:
        """A refusal of a known user is audited as well, and nothing is decided a second time."""
        anonymous = UserInfo(name="system:anonymous")
        asked, error = request(authenticated=anonymous, user=anonymous), Forbidden.path("no")
        self.assertIs(self.failureResultOf(self.refused(asked, error)).value, error)
        self.assertEqual(tuple(asked.warnings), (*ORDER[: ORDER.index("authentication")], "audit"))

    def refused(self, asked: Request, error: Forbidden | Unauthorized) -> Deferred[Response]:
        return Deferred.fromCoroutine(refused(self.STAGES, asked, error))
