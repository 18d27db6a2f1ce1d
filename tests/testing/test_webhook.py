"""The webhook for tests, well and badly behaved."""
# covers: orchtw.testing.webhook_connection

from __future__ import annotations

from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from orchtw.testing.webhook import HANG_UP, Reply, WebhookRequest, WebhookServer

reactor: Any = installed_reactor

REQUEST = b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


class Client(Protocol):
    """Protocol that collects the received bytes."""

    transport: Any

    def __init__(self) -> None:
        self.data = b""
        self.ended: Deferred[None] = Deferred()
        self._wanted: tuple[bytes, Deferred[None]] | None = None

    async def until(self, piece: bytes) -> None:
        """Wait for some bytes."""
        if piece not in self.data:
            self._wanted = piece, Deferred()
            await self._wanted[1]

    def dataReceived(self, data: bytes) -> None:
        self.data += data
        if self._wanted is not None and self._wanted[0] in self.data:
            wanted, self._wanted = self._wanted[1], None
            wanted.callback(None)

    def connectionLost(self, _reason: Failure = connectionDone) -> None:
        self.ended.callback(None)


class WebhookServerTests(TestCase):
    """Plain HTTP shows what it sends; TLS is for the tests of callers."""

    def setUp(self) -> None:
        self.reply: Any = {"a": 1}
        self.webhook = WebhookServer(reactor, self.answer, tls=False)
        self.addCleanup(self.webhook.stop)

    def answer(self, _asked: WebhookRequest) -> Any:
        return self.reply

    async def client(self) -> Client:
        endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", self.webhook.port)
        made: Client = await connectProtocol(endpoint, Client())
        self.addCleanup(made.transport.abortConnection)
        return made

    async def sent(self, reply: Any) -> bytes:
        """Everything that comes for a request until the end of the connection."""
        self.reply = reply
        client = await self.client()
        client.transport.write(REQUEST)
        await client.ended
        return client.data

    async def test_answers(self) -> None:
        """JSON values, bytes and what can be awaited; the connection is kept."""
        client = await self.client()
        later: Deferred[bytes] = Deferred()
        for reply, body in (({"a": 1}, b'{"a":1}'), (b"x1", b"x1"), (later, b"x2"), (Reply(body=b"x3"), b"x3")):
            self.reply = reply
            client.transport.write(REQUEST)
            if reply is later:
                reactor.callLater(0, later.callback, b"x2")
            await client.until(body)
        self.assertEqual((self.webhook.accepted, self.webhook.connections), (1, 1))
        asked = self.webhook.asked[0]
        self.assertEqual((asked.method, asked.target, asked.json, asked.user), ("POST", "/a?b=c", {}, ""))

    async def test_bad_answers(self) -> None:
        """A bad reply is sent exactly as its definition says."""
        self.assertEqual(await self.sent(HANG_UP), b"")
        self.assertEqual(await self.sent(Reply(raw=b"hello", half_closed=True)), b"hello")
        self.assertTrue((await self.sent(Reply(body=b"12345", cut=2))).endswith(b"Content-Length: 5\r\n\r\n12"))

    async def test_failing(self) -> None:
        """A test's function that fails is a 500."""
        failing: Deferred[bytes] = Deferred()
        failing.errback(Failure(ValueError()))
        self.reply = failing
        client = await self.client()
        client.transport.write(REQUEST)
        await client.until(b"HTTP/1.1 500 ")

    async def test_silent(self) -> None:
        """One that never answers lets its client end the connection, or is ended."""
        self.reply = Reply(silent=True)
        client = await self.client()
        client.transport.write(REQUEST)
        await connected(lambda: self.webhook.asked)
        self.webhook.hang_up()
        await client.ended

    async def test_again(self) -> None:
        """It can be stopped, and started again on the same port."""
        port = self.webhook.port
        await self.webhook.stop()
        with self.assertRaises(ConnectionRefusedError):
            await self.client()
        self.webhook.start()
        self.assertEqual(self.webhook.port, port)
        (await self.client()).transport.write(REQUEST)
        await connected(lambda: self.webhook.asked)


async def connected(done: Any) -> None:
    """Wait until `done()` is true."""
    while not done():
        tick: Deferred[None] = Deferred()
        reactor.callLater(0.01, tick.callback, None)
        await tick
