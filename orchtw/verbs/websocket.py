"""GET of a collection's changes, or of a log, over a WebSocket (reference WATCH-19, PROXY-7)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Final

from orchtw.request import Response, Upgrade
from orchtw.responses.representation import Representations
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.websocket import BEARER, UpgradeRequired, check_origin, handshake, is_websocket, subprotocols
from orchtw.verbs.call import VerbCall
from orchtw.verbs.handler import Verb

BASE64: Final = "base64."
"""Prefix of sub-protocols whose messages are text."""


class WebSocketVerb:
    """A verb whose stream may be sent over WebSockets, which pages of `origins` may use."""

    def __init__(self, verb: Verb, origins: AllowedOrigins, representations: Representations) -> None:
        self._verb = verb
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
        return Response(code=101, headers=answer, stream=response.stream, upgrade=self.upgrade(call))

    def upgrade(self, call: VerbCall) -> Upgrade:
        """Return the opener of the socket of a call."""
        raise NotImplementedError


class WebSocketWatch(WebSocketVerb):
    """Verb `watch`: each event is a message."""

    def upgrade(self, call: VerbCall) -> Upgrade:
        """Return the opener for messages in the format of the call."""
        return self._upgrades[call.accept.format]

    @cached_property
    def _upgrades(self) -> Mapping[str, Upgrade]:
        """Openers of sockets by format; their library is imported for the first client that asks for one."""
        from orchtw.serving.websocket import messages_by_format, open_socket

        return {name: partial(open_socket, messages) for name, messages in messages_by_format().items()}


class WebSocketLog(WebSocketVerb):
    """GET of a log: its pieces are binary messages, or text in base64 if the first sub-protocol says so."""

    def upgrade(self, call: VerbCall) -> Upgrade:
        """Return the opener for pieces of the log."""
        from orchtw.serving.websocket import open_socket, piece_messages

        offered = next((name for name in subprotocols(call.request.headers) if not name.startswith(BEARER)), "")
        return partial(open_socket, piece_messages(in_base64=offered.startswith(BASE64)))
