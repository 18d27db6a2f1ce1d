"""HTTP/2 over TLS, chosen in the handshake by those who ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet import reactor as installed_reactor

from orchtw.request import Request, Response, chunk
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.tls_context import TLSOptions
from tests.serving.authorities import Identity, connect
from tests.serving.http2.client import BlockingClient
from tests.serving.listening import PIECES, ListenerTestCase

T = TypeVar("T")
SOME = PIECES[:120]  # more than is sent in one piece
reactor: Any = installed_reactor


class ListenerTests(ListenerTestCase):
    limits = EdgeLimits(http2_streams=50)

    def options(self, server: Identity, **more: Any) -> TLSOptions:
        return super().options(server, protocols=(b"h2", b"http/1.1"), **more)

    async def app(self, request: Request) -> Response:
        if request.path == "/pieces":
            self.peers.append(request.peer)
            return Response(body=SOME)
        return await super().app(request)

    async def over(self, work: Callable[[BlockingClient], T], pem: bytes = b"") -> T:
        context = self.context(pem, alpn=["h2", "http/1.1"])

        def talk() -> T:
            with connect(self.listener.port, context) as connected:
                assert connected.selected_alpn_protocol() == "h2"
                return work(BlockingClient(connected))

        return await self.away(talk)

    async def test_chosen(self) -> None:
        """HTTP/2 for those who offer it, else HTTP/1.1 (reference REQ-32)."""
        for offered, expected in ((["h2"], "h2"), (["http/1.1"], "http/1.1"), (["spdy/3"], None)):
            context = self.context(alpn=offered)
            client = await self.away(lambda context=context: connect(self.listener.port, context))  # type: ignore[misc]
            chosen = client.selected_alpn_protocol()
            client.close()
            self.assertEqual(chosen, expected)
        answer = await self.exchange(b"GET /one HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertTrue(answer.endswith(b"/one"))

    async def test_requests(self) -> None:
        """Requests, bodies and long answers; the peer's certificate is known to each."""
        def work(client: BlockingClient) -> list[tuple[int, bytes]]:
            number = client.ask("POST", "/two", body=b"body")
            return [client.answer(number), client.get("/one"), client.get("/pieces")]

        alice = Identity("alice", self.ca)
        answers = await self.over(work, alice.pem())
        self.assertEqual(answers, [(200, b"/twobody"), (200, b"/one"), (200, b"".join(SOME))])
        self.assertEqual([peer.verified for peer in self.peers], [True] * 3)

    async def test_watch(self) -> None:
        """Events come while other requests pass; the end of the server is the end of the watch, in order."""
        def begin(client: BlockingClient) -> Any:
            number = client.ask("GET", "/stream")
            client.until(lambda: number in client.heads)
            other = client.get("/one")
            reactor.callFromThread(self.stream.channel.write, chunk(b"event"))
            client.until(lambda: client.bodies.get(number))
            reactor.callFromThread(self.listener.edge.wind_down)
            client.until(lambda: number in client.ended)
            return client.bodies[number], other

        self.assertEqual(await self.over(begin), (b"event", (200, b"/one")))
        await self.stream.gone
        self.assertEqual(self.listener.edge.in_flight, 0)
