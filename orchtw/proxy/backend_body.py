"""The body of another server's response as a stream of ours: read only as fast as the client takes it."""

from __future__ import annotations

import zlib
from typing import Final, Protocol

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from orchtw.outbound.exchange import CallOutcome, ClientExchange
from orchtw.request import Ending, ResponseChannel, chunk
from orchtw.rules.proxied_links import Page

_WINDOWS: Final = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
INFLATED_BYTES: Final = 4 << 20
"""Limit of one decompressed read of at most 64 KiB: pages shrink to a tenth, only traps to a thousandth."""


class BodyChange(Protocol):
    """Transformation of a body while it is streamed."""

    def feed(self, data: bytes) -> bytes:
        """Take a piece; return the bytes that can be sent now."""

    def end(self) -> bytes:
        """Return the remaining bytes."""


@implementer(IPushProducer)
class BackendBody:
    """A `StreamBody` that is also the `BodySink` of its contents."""

    def __init__(self, exchange: ClientExchange, change: BodyChange | None = None) -> None:
        self._exchange = exchange
        self._change = change
        self._channel: ResponseChannel | None = None

    def start(self, channel: ResponseChannel) -> None:
        """Forward the body from now on."""
        self._channel = channel
        channel.registerProducer(self, True)
        self._exchange.read_into(self)

    def connection_lost(self) -> None:
        """Abort the exchange: the client is gone."""
        self._channel = None
        self._exchange.abort()

    def received(self, data: bytes) -> None:
        """Forward a piece of the body."""
        if self._channel is None:
            return
        if self._change is not None:
            try:
                data = self._change.feed(data)
            except zlib.error:
                self._give_up()
                return
        if data:
            self._channel.write(chunk(data))

    def ended(self, outcome: CallOutcome) -> None:
        """Finish the body. A truncated one ends the connection, so that the client notices."""
        channel = self._channel
        if channel is None:
            return
        if outcome is not CallOutcome.WHOLE:
            self._give_up()
            return
        self._channel = None
        if self._change is not None and (rest := self._change.end()):
            channel.write(chunk(rest))
        channel.finish(Ending.COMPLETE)

    def _give_up(self) -> None:
        channel, self._channel = self._channel, None
        self._exchange.abort()
        if channel is not None:
            channel.abort()

    def pauseProducing(self) -> None:
        """Pause the exchange: the client is slow."""
        self._exchange.pause()

    def resumeProducing(self) -> None:
        """Resume the exchange: the client has room."""
        self._exchange.resume()

    def stopProducing(self) -> None:
        """Ignore the end of the connection: `connection_lost` follows."""


class InflatedPage:
    """A page that arrives compressed, and is sent without compression."""

    def __init__(self, page: Page, coding: str) -> None:
        self._page = page
        self._inflate = zlib.decompressobj(_WINDOWS[coding])

    @staticmethod
    def reads(coding: str) -> bool:
        """Report whether a Content-Encoding can be decoded."""
        return coding in _WINDOWS

    def feed(self, data: bytes) -> bytes:
        """Take a piece. Raises zlib.error for invalid compression, or too large a result."""
        inflated = self._inflate.decompress(data, INFLATED_BYTES)
        if self._inflate.unconsumed_tail:
            raise zlib.error("too much")
        return self._page.feed(inflated)

    def end(self) -> bytes:
        """Return the rest of the page."""
        return self._page.end()
