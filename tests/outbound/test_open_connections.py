"""Connections that are dropped at their owner's end."""

from __future__ import annotations

from functools import partial

from twisted.internet.defer import ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.open_connections import OpenConnections
from tests.outbound.doubles import BackendTransport


class OpenConnectionsTests(SynchronousTestCase):
    """The end of an owner's connections."""

    def setUp(self) -> None:
        self.connections = OpenConnections()
        self.transports = [BackendTransport() for _ in range(2)]
        for each in self.transports:
            self.connections.opened(each)

    def test_drop(self) -> None:
        """All connections are aborted, and the end waits until each is closed."""
        dropping = ensureDeferred(self.connections.drop())
        self.assertTrue(all(each.disconnecting for each in self.transports))
        self.connections.closed(self.transports[0])
        self.assertNoResult(dropping)
        self.connections.closed(self.transports[1])
        self.successResultOf(dropping)

    def test_closed_at_once(self) -> None:
        """A transport may close within the call that aborts it."""
        for each in self.transports:
            self.patch(each, "abortConnection", partial(self.connections.closed, each))
        self.successResultOf(ensureDeferred(self.connections.drop()))

    def test_none_left(self) -> None:
        """Without connections the end waits for nothing, and a connection may be reported closed twice."""
        for each in self.transports * 2:
            self.connections.closed(each)
        self.successResultOf(ensureDeferred(self.connections.drop()))
