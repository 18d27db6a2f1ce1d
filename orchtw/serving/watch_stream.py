"""Watch as the body of a response: the link between a member and its connection."""

from __future__ import annotations

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from orchtw.request import ResponseChannel
from orchtw.watch.watcher import Watcher


@implementer(IPushProducer)
class WatchStream:
    """Driver of a member by its connection: start, pause and resume with the transport, end."""

    __slots__ = ("member",)

    def __init__(self, member: Watcher) -> None:
        self.member = member

    def start(self, channel: ResponseChannel) -> None:
        """Register for backpressure, then write: the response's head has been sent."""
        channel.registerProducer(self, True)
        self.member.start(channel)

    def connection_lost(self) -> None:
        """Close the member: the client is gone."""
        self.member.close()

    def pauseProducing(self) -> None:
        """Pause the member: the transport is full."""
        self.member.pause()

    def resumeProducing(self) -> None:
        """Resume the member: the transport has drained."""
        self.member.resume()

    def stopProducing(self) -> None:
        """Close the member: the transport is gone."""
        self.member.close()
