"""A watch as the body of a response: the thin piece between a member and its connection."""

from __future__ import annotations

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from orchtw.request import ResponseChannel
from orchtw.watch.watcher import Watcher


@implementer(IPushProducer)
class WatchStream:
    """Drives a member from its connection: start, pause as the transport fills, resume as it drains, the end."""

    __slots__ = ("_member",)

    def __init__(self, member: Watcher) -> None:
        self._member = member

    def start(self, channel: ResponseChannel) -> None:
        """The response's head is on its way: register for backpressure, then write."""
        channel.registerProducer(self, True)
        self._member.start(channel)

    def connection_lost(self) -> None:
        """The client is gone."""
        self._member.close()

    def pauseProducing(self) -> None:
        """The transport is full."""
        self._member.pause()

    def resumeProducing(self) -> None:
        """The transport has drained."""
        self._member.resume()

    def stopProducing(self) -> None:
        """The transport is gone."""
        self._member.close()
