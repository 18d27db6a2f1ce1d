"""GET of a collection's changes over a WebSocket (reference WATCH-19)."""

from __future__ import annotations

from functools import partial

from orchtw.request import Response
from orchtw.responses.representation import Representations
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.websocket import UpgradeRequired, check_origin, handshake, is_websocket
from orchtw.serving.websocket import messages_by_format, open_socket
from orchtw.verbs.call import VerbCall
from orchtw.verbs.handler import Verb


class WebSocketWatch:
    """The verb `watch`, of which a client may ask for a WebSocket; pages of `origins` may."""

    def __init__(self, watch: Verb, origins: AllowedOrigins, representations: Representations) -> None:
        self._watch = watch
        self._origins = origins
        self._representations = representations
        self._messages = messages_by_format()

    async def __call__(self, call: VerbCall) -> Response:
        """101 and the events as messages, or what `watch` answers to others.

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
        upgrade = partial(open_socket, self._messages[call.accept.format])
        return Response(code=101, headers=answer, stream=response.stream, upgrade=upgrade)
