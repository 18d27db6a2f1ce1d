"""Where HTTP/2 begins: connections whose clients have chosen it in the handshake."""

from __future__ import annotations

from typing import Any

from orchtw.serving.edge import Edge
from orchtw.serving.http2.connection import HTTP2Channel
from orchtw.serving.http2.shared import Shared


class Multiplexer:
    """Takes connections over whose clients have chosen HTTP/2, with at most `streams` requests at a time each."""

    def __init__(self, edge: Edge, streams: int) -> None:
        self._shared = Shared(edge, streams)

    def take_over(self, transport: Any) -> None:
        """Become the transport's protocol; the handshake is complete."""
        channel = HTTP2Channel(self._shared)
        transport.protocol = channel
        channel.makeConnection(transport)
