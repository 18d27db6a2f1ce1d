"""Comparison of plans with the whole way, for tests that send requests to a server in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.errors import Conflict
from orchtw.filters.plan_keys import Place
from orchtw.filters.plans import Plans, _Lesson
from orchtw.request import Peer, Request, Response
from orchtw.testing.in_process import InProcessServer
from orchtw.testing.in_process_stream import Collected

_NOBODY = Peer(address="", port=0)


def compare(test: Any) -> None:
    """Have each get of an object sent until a plan can answer it, and once the whole way: answers must be equal."""
    respond = InProcessServer._respond  # noqa: SLF001

    async def compared(
        server: InProcessServer, method: str, url: str, body: Any, headers: Mapping[str, str] | None
    ) -> Response:
        plans = server.instance.front.app
        path, _, query = url.partition("?")
        request = Request(method=method, path=path, query=query, peer=_NOBODY)
        if plans._keys.of(request) is None:  # noqa: SLF001
            return await respond(server, method, url, body, headers)
        answers = []
        for plans.on in (True, True, True, False):
            answers.append(await _whole(await respond(server, method, url, body, headers)))
        plans.on = True
        told = [_told(each) for each in answers]
        test.assertEqual(told, [told[-1]] * len(told))
        return answers[2]

    test.patch(InProcessServer, "_respond", compared)


def lead(test: Any) -> dict[str, int]:
    """Have every request that can have a short line go by one, the first of its kind too.

    What comes back counts them: `led`, and `whole` for the others.
    """
    whole, counts = Plans.whole, {"led": 0, "whole": 0}

    def led(plans: Plans, request: Request) -> Any:
        found = plans._keys.place(request)  # noqa: SLF001
        if found is not None and "impersonate-user" not in request.headers:
            _learn(plans, request, found[0])
        before = plans.led
        answer = whole(plans, request)
        counts["led" if plans.led > before else "whole"] += 1
        return answer

    test.patch(Plans, "whole", led)
    test.patch(Plans, "at_once", lambda plans, request: None)
    return counts


def _learn(plans: Plans, request: Request, place: Place) -> None:
    """Lead a like request along the whole line, up to its handler, and keep the short line that it makes."""
    tried = Request(method=request.method, path=request.path, query=request.query, headers=request.headers,
                    repeated=request.repeated, body=request.body, peer=request.peer)  # fmt: skip
    handler, plans._handler = plans._handler, _Refusing()  # type: ignore[assignment]
    lesson = plans._learning = _Lesson(tried, tried.headers, place)
    answer = plans._line(tried)
    try:
        answer.send(None)
    except StopIteration:
        plans._keep_line(place, lesson.line)
    else:
        answer.close()
    finally:
        plans._handler, plans._learning = handler, None


class _Refusing:
    """Handler that handles nothing."""

    async def handle(self, request: Request) -> Response:
        raise Conflict("not handled")


async def _whole(response: Response) -> Response:
    """Return a response whose body is complete, also where it would be made while it is sent."""
    if response.stream is not None:
        response.body, response.stream = await Collected(response.stream).whole, None
    elif response.parts is not None:
        response.body, response.parts = b"".join(response.parts), None
    return response


def _told(response: Response) -> object:
    headers = [header for header in response.headers if header[0] != "Audit-Id"]
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return response.code, response.content_type, headers, body
