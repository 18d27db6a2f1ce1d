"""Start of HTTP/2: takeover of connections whose clients have negotiated it."""

from __future__ import annotations

from typing import Any

from orchtw.serving.edge import Edge
from orchtw.serving.http2.connection import HTTP2Channel
from orchtw.serving.http2.shared import Shared


class Multiplexer:
    """Takeover of HTTP/2 connections, with at most `streams` concurrent requests each."""

    def __init__(self, edge: Edge, streams: int) -> None:
        self._shared = Shared(edge, streams)

    def take_over(self, transport: Any) -> None:
        """Install the HTTP/2 protocol on a transport whose handshake is complete."""
        channel = HTTP2Channel(self._shared)
        transport.protocol = channel
        channel.makeConnection(transport)
