"""Start of HTTP/2: takeover of connections whose clients have negotiated it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from orchtw.serving.edge import Edge


class Multiplexer:
    """Takeover of HTTP/2 connections, with at most `streams` concurrent requests each.

    The protocol is imported for the first of them (10 ms): a start does without.
    """

    def __init__(self, edge: Edge, streams: int) -> None:
        self._edge = edge
        self._streams = streams
        self._channel: Callable[[], Any] | None = None

    def take_over(self, transport: Any) -> None:
        """Install the HTTP/2 protocol on a transport whose handshake is complete."""
        if self._channel is None:
            self._channel = self._channels()
        channel = self._channel()
        transport.protocol = channel
        channel.makeConnection(transport)

    def _channels(self) -> Callable[[], Any]:
        """Return what makes a channel; all of them share their state."""
        from orchtw.serving.http2.connection import HTTP2Channel
        from orchtw.serving.http2.shared import Shared

        return partial(HTTP2Channel, Shared(self._edge, self._streams))
