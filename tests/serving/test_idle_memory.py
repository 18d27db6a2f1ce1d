"""Memory of an idle watch: many of them are open for long, and each byte counts."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Ending, Request, Response
from orchtw.serving.http1 import HTTPChannel
from tests.serving.authorities import connect
from tests.serving.edge_doubles import GET as ONE
from tests.serving.edge_doubles import RecordedStream, Wire, answering, ok
from tests.serving.listening import GET, ListenerTestCase


class Traced(list[Any]):
    """A list that can be looked for afterwards."""


class StreamTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.stream = RecordedStream()
        self.kept: list[weakref.ref[Traced]] = []
        self.endings: list[Ending] = []

    async def app(self, request: Request) -> Response:
        request.warnings, headers = Traced(), Traced([("A", "b")])
        self.kept += [weakref.ref(request.warnings), weakref.ref(headers)]
        response = Response(stream=self.stream, headers=headers)
        response.on_end(self.endings.append)
        return response

    def test_keeps_nothing(self) -> None:
        """While a stream runs, neither its request nor the rest of its answer is in memory; its end is told."""
        wire = Wire(self.app)
        wire.send(ONE)
        gc.collect()
        self.assertEqual([kept() for kept in self.kept], [None, None])
        self.stream.channel.finish(Ending.DEADLINE)
        self.assertEqual(self.endings, [Ending.DEADLINE])

    def test_next_request(self) -> None:
        """The parser's released state is back for the next request."""
        wire = Wire(answering(Response(stream=self.stream), Response(body=b"2")))
        wire.send(ONE)
        self.stream.channel.finish()
        wire.transport.taken()
        self.assertEqual(wire.send(ONE), ok(b"2"))

    def test_no_dictionary(self) -> None:
        """All that a channel has is in slots."""
        self.assertFalse(hasattr(HTTPChannel(Wire().edge), "__dict__"))


class TransportTests(ListenerTestCase):
    async def test_no_dictionary(self) -> None:
        """Nor does a transport put anything beside its slots, with a watch and after more than the client takes."""
        client = await self.away(lambda: connect(self.listener.port, self.context(alpn=["http/1.1"]), 4096))
        await self.away(lambda: client.sendall(GET % b"stream"))
        await self.stream.started
        [transport] = self.listener._listening.transports
        self.stream.channel.write(b"x" * 8_000_000)
        self.assertTrue(transport.unsent)
        self.assertEqual(vars(transport), {})
        await self.away(client.close)
        await self.stream.gone
