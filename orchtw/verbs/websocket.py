"""GET of a collection's changes, or of a log, over a WebSocket (reference WATCH-19, PROXY-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final

from orchtw.request import Response, Upgrade
from orchtw.responses.representation import Representations
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.websocket import BEARER, UpgradeRequired, check_origin, handshake, is_websocket, subprotocols
from orchtw.verbs.call import VerbCall
from orchtw.verbs.handler import Verb

BASE64: Final = "base64."
"""Prefix of sub-protocols whose messages are text."""


ChooseUpgrade = Callable[[VerbCall], Upgrade]
"""Returns the opener of the socket of a call; its library is imported for the first client that asks for one."""


class WebSocketVerb:
    """A verb whose stream may be sent over WebSockets, which pages of `origins` may use."""

    def __init__(
        self, verb: Verb, upgrade: ChooseUpgrade, origins: AllowedOrigins, representations: Representations
    ) -> None:
        self._verb = verb
        self._upgrade = upgrade
        self._origins = origins
        self._representations = representations

    async def __call__(self, call: VerbCall) -> Response:
        """Stream over a WebSocket: 101 and the contents as messages; other requests go to the verb.

        Raises BadRequest (400) for a malformed handshake, Forbidden (403) for a page of another origin, and what
        the verb raises.
        """
        headers = call.request.headers
        if not is_websocket(headers) or call.request.method != "GET":
            return await self._verb(call)
        check_origin(headers, self._origins)
        try:
            answer = handshake(headers)
        except UpgradeRequired as refusal:
            accept = self._representations.untransformed(call.accept)
            response = self._representations.refusal(refusal, accept)
            response.headers += refusal.headers
            return response
        response = await self._verb(call)
        if response.stream is None:
            return response
        return Response(code=101, headers=answer, stream=response.stream, upgrade=self._upgrade(call))


def event_messages(call: VerbCall) -> Upgrade:
    """Return the opener for a watch: each event is a message in the format of the call."""
    return _openers()[call.accept.format]


def log_messages(call: VerbCall) -> Upgrade:
    """Return the opener for a log: pieces are binary messages, or base64 text if the first sub-protocol says so."""
    from orchtw.serving.websocket import open_socket, piece_messages

    offered = next((name for name in subprotocols(call.request.headers) if not name.startswith(BEARER)), "")
    return partial(open_socket, piece_messages(in_base64=offered.startswith(BASE64)))


@cache
def _openers() -> Mapping[str, Upgrade]:
    """Return the openers of watches by format."""
    from orchtw.serving.websocket import messages_by_format, open_socket

    return {name: partial(open_socket, messages) for name, messages in messages_by_format().items()}
