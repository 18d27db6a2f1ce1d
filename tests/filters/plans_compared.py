"""Comparison of plans with the whole way, for tests that send requests to a server in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
