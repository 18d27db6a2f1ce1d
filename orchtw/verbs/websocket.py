"""GET of a collection's changes over a WebSocket (reference WATCH-19)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

from orchtw.request import Response, Upgrade
from orchtw.responses.representation import Representations
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.websocket import UpgradeRequired, check_origin, handshake, is_websocket
from orchtw.verbs.call import VerbCall
from orchtw.verbs.handler import Verb


class WebSocketWatch:
    """Verb `watch` with optional WebSockets, which pages of `origins` may use."""

    def __init__(self, watch: Verb, origins: AllowedOrigins, representations: Representations) -> None:
        self._watch = watch
        self._origins = origins
        self._representations = representations

    async def __call__(self, call: VerbCall) -> Response:
        """Watch over a WebSocket: 101 and the events as messages; other requests go to `watch`.

        Raises BadRequest (400) for a malformed handshake, Forbidden (403) for a page of another origin, and what
        `watch` raises.
        """
        headers = call.request.headers
        if not is_websocket(headers) or call.request.method != "GET":
            return await self._watch(call)
        check_origin(headers, self._origins)
        try:
            answer = handshake(headers)
        except UpgradeRequired as refusal:
            accept = self._representations.untransformed(call.accept)
            response = self._representations.refusal(refusal, accept)
            response.headers += refusal.headers
            return response
        response = await self._watch(call)
        upgrade = self._upgrades[call.accept.format]
        return Response(code=101, headers=answer, stream=response.stream, upgrade=upgrade)

    @cached_property
    def _upgrades(self) -> Mapping[str, Upgrade]:
        """Openers of sockets by format; their library is imported for the first client that asks for one."""
        from orchtw.serving.websocket import messages_by_format, open_socket

        return {name: partial(open_socket, messages) for name, messages in messages_by_format().items()}
