"""Watches over WebSockets, and cross-origin requests, against a real server over TLS.

Sources: reference WATCH-19, REQ-27, REQ-28.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import ServerCase, reactor, shared_server
from tests.end_to_end.client import PATIENCE_S, Client, raw_exchange, tls_context
from tests.end_to_end.websocket_client import Closed, Rejected, WebSocketClient, bearer
from tests.forked import forking

TOKEN = "a-token/with?signs"
ALLOWED = "https://console.example.com"
STRANGER = "https://evil.example.org"
EVENTS = 1000
DATA = "x" * 10_000  # ten megabytes altogether: more than the system buffers for a client that does not read


def event(message: Any) -> tuple[str, str]:
    """Type and object's name of a message of JSON."""
    assert message.endswith("\n"), message
    found = json.loads(message)
    return found["type"], found["object"]["metadata"]["name"]


class WebSocketCase(ServerCase):
    """A server with a token file, and a console's origin allowed; its request lines are logged."""

    async def setUp(self) -> None:  # type: ignore[override]
        if WebSocketCase.flags is ServerCase.flags:
            tokens = Path(self.mktemp()).absolute()
            tokens.write_text(f'{TOKEN},page,1,"system:masters"\n')
            allowed = f"--cors-allowed-origins=^{re.escape(ALLOWED)}$"
            WebSocketCase.flags = (*ServerCase.flags, f"--token-auth-file={tokens}", allowed, "--v=3")
        await super().setUp()
        self.context = tls_context(self.server.kubeconfig)
        self.stranger = tls_context(self.server.kubeconfig, certificate=False)

    async def open(self, query: str = "", **more: Any) -> WebSocketClient:
        """A watch of the test's config maps over a WebSocket, as administrator by certificate."""
        return await self.open_path(f"{self.core('configmaps')}?watch=1{query}", **more)

    async def open_path(self, path: str, **more: Any) -> WebSocketClient:
        context = more.pop("context", self.context)
        client = await WebSocketClient.open(self.server.port, context, path, **more)
        self.addCleanup(client.drop)
        return client

    async def put(self, name: str, data: str = "") -> None:
        await self.created(self.core("configmaps"), {"metadata": {"name": name}, "data": {"text": data}})

    async def assertRejected(self, code: int, **more: Any) -> None:
        """The handshake is refused with a Status of this code."""
        rejected: Any = await self.assertFailure(Deferred.fromCoroutine(self.open(**more)), Rejected)
        self.assertEqual((rejected.code, json.loads(rejected.body)["code"]), (code, code))


class MessageTests(WebSocketCase):
    """Events over a WebSocket."""

    async def test_json(self) -> None:
        """Each event is one text message: the line of the ordinary watch (reference WATCH-19)."""
        await self.put("a")
        socket = await self.open()
        self.assertIsNone(socket.accepted.subprotocol)
        plain = await self.client.watch(f"{self.core('configmaps')}?watch=1")
        self.assertEqual(event(await socket.message()), ("ADDED", "a"))
        await self.put("b", "é\n")
        await self.client.delete(self.core("configmaps", "b"))
        await plain.event()
        messages = await socket.messages(2)
        self.assertEqual([event(each) for each in messages], [("ADDED", "b"), ("DELETED", "b")])
        self.assertEqual([json.loads(each) for each in messages], await plain.events(2))

    async def test_old_path(self) -> None:
        """The path with /watch/ in it is a watch as well (reference REQ-6)."""
        await self.put("a")
        socket = await self.open_path(f"/api/v1/watch/namespaces/{self.namespace}/configmaps")
        self.assertEqual(event(await socket.message()), ("ADDED", "a"))

    async def test_protobuf(self) -> None:
        """Each event is one binary message: the WatchEvent without the length of the ordinary watch's frame."""
        await self.put("a")
        accept = f"{self.naming.protobuf_media_type};stream=watch"
        socket = await self.open(headers=[("Accept", accept)])
        plain = await self.client.watch(f"{self.core('configmaps')}?watch=1", accept)
        for name in ("b", "c"):
            await self.put(name)
        self.assertEqual(await socket.messages(3), [await plain.frame() for _ in range(3)])

    async def test_deadline(self) -> None:
        """At its deadline the watch ends with a normal close frame."""
        socket = await self.open("&timeoutSeconds=1")
        closed: Any = await self.assertFailure(Deferred.fromCoroutine(socket.message()), Closed)
        self.assertEqual(closed.code, 1000)

    async def test_ping_and_close(self) -> None:
        """A ping is answered, a message ignored, and a close answered before the connection ends (RFC 6455 §5.5)."""
        socket = await self.open()
        self.assertEqual(await socket.ping(b"alive?"), b"alive?")
        self.assertEqual(await socket.close(1001), 1000)

    async def test_slow_reader(self) -> None:
        """A client that reads nothing while a thousand events happen gets each once and in order when it does."""
        slow = await self.open(buffer_bytes=4096)
        quick = Deferred.fromCoroutine((await self.open()).messages(EVENTS))
        for first in range(0, EVENTS, 50):
            puts = [Deferred.fromCoroutine(self.put(f"c{first + number}", DATA)) for number in range(50)]
            await gatherResults(puts)
        received = await quick
        self.assertEqual({event(each) for each in received}, {("ADDED", f"c{number}") for number in range(EVENTS)})
        self.assertEqual(await slow.messages(EVENTS), received)

    async def test_errors_are_answers(self) -> None:
        """Invalid watches are refused as usual, before the upgrade."""
        await self.assertRejected(400, query="&resourceVersion=x")
        await self.assertRejected(403, context=self.stranger)
        await self.assertRejected(401, context=self.stranger, headers=[("Authorization", "Bearer x")])


class HandshakeTests(WebSocketCase):
    """Opening of WebSockets: rights and protocols."""

    async def raw(self, version: str, lines: str) -> bytes:
        """The answer to an upgrade request with these header lines."""
        head = f"GET {self.core('configmaps')}?watch=1 {version}\r\nHost: a\r\nUpgrade: websocket\r\n{lines}\r\n"
        return await deferToThread(raw_exchange, self.server.port, self.context, head.encode())

    async def test_malformed(self) -> None:
        """A handshake without key is 400; another version is 426, which names 13 (RFC 6455 §4.4)."""
        version = "Sec-WebSocket-Version: {}\r\n"
        for lines, code in ((version.format(13), b"400"), ("", b"400"), (version.format(8), b"426")):
            answer = await self.raw("HTTP/1.1", f"Connection: Upgrade, close\r\n{lines}")
            self.assertEqual(answer.split(b" ", 2)[1], code, answer)
        self.assertIn(b"\r\nSec-WebSocket-Version: 13\r\n", answer)

    async def test_http10(self) -> None:
        """HTTP/1.0 knows no upgrade: 400."""
        lines = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        answer = await self.raw("HTTP/1.0", f"Connection: Upgrade\r\n{lines}")
        self.assertEqual(answer.split(b" ", 2)[1], b"400", answer)

    async def test_origins(self) -> None:
        """Pages of the server itself and of allowed origins may; those of others are 403, files and sandboxes too."""
        for origin in (f"https://127.0.0.1:{self.server.port}", ALLOWED):
            socket = await self.open(headers=[("Origin", origin)])
            await self.put(self.unique("c"))
            self.assertEqual(event(await socket.message())[0], "ADDED")
        for origin in (STRANGER, "null", f"http://127.0.0.1:{self.server.port}"):
            await self.assertRejected(403, headers=[("Origin", origin)])

    async def test_token(self) -> None:
        """A sub-protocol may be the token, under either vocabulary's domain; the server chooses another one."""
        await self.put("a")
        for domain in ("orch.io", "k8s.io"):
            protocols = [bearer(TOKEN, domain), "first", "second"]
            socket = await self.open(protocols=protocols, context=self.stranger)
            self.assertEqual(socket.accepted.subprotocol, "first")
            self.assertEqual(event(await socket.message()), ("ADDED", "a"))
        self.assertNotIn(TOKEN, self.server.log)
        self.assertNotIn(bearer(TOKEN).rpartition(".")[2], self.server.log)

    async def test_wrong_tokens(self) -> None:
        """A wrong token, two tokens, one that cannot be decoded, and one alone are 401."""
        good = bearer(TOKEN)
        for protocols in ([bearer("wrong"), "a"], [good, bearer("x"), "a"], [f"{good}*", "a"], [good]):
            await self.assertRejected(401, protocols=protocols, context=self.stranger)


class CORSTests(WebSocketCase):
    """Cross-origin requests over WebSockets."""

    PREFLIGHT = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}

    async def test_preflight(self) -> None:
        """A preflight needs no credentials: 204 and what a page may do (reference REQ-28)."""
        answer = await self.anonymous().send("OPTIONS", "/api/v1/pods", headers={"Origin": ALLOWED, **self.PREFLIGHT})
        self.assertEqual((answer.code, answer.body), (204, b""))
        self.assertEqual(
            {name: value for name, value in answer.headers.items() if name.startswith("access-")},
            {
                "access-control-allow-origin": ALLOWED,
                "access-control-allow-methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
                "access-control-allow-headers": "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, "
                "Authorization, X-Requested-With, If-Modified-Since",
                "access-control-expose-headers": "Date",
                "access-control-allow-credentials": "true",
            },
        )
        self.assertEqual(answer.headers["vary"], "Origin")

    async def test_no_preflight(self) -> None:
        """OPTIONS is 405 for others: strangers' pages, and an allowed one that asks for no method."""
        for headers in ({"Origin": STRANGER, **self.PREFLIGHT}, {"Origin": ALLOWED}, self.PREFLIGHT):
            answer = await self.client.send("OPTIONS", "/api/v1/pods", headers=headers)
            self.assertEqual(answer.code, 405, answer)

    async def test_answers(self) -> None:
        """The headers are on answers and refusals alike, for the allowed origin alone."""
        page = {"Origin": ALLOWED}
        answers = [
            await self.client.send("GET", self.core("configmaps"), headers=page),
            await self.client.send("GET", self.core("nothings"), headers=page),
            await self.anonymous().send("GET", self.core("configmaps"), headers=page),
            await self.anonymous(Authorization="Bearer x").send("GET", self.core("configmaps"), headers=page),
        ]
        self.assertEqual([each.code for each in answers], [200, 404, 403, 401])
        for answer in answers:
            self.assertEqual(answer.headers["access-control-allow-origin"], ALLOWED)
            self.assertEqual(answer.headers["access-control-allow-credentials"], "true")
        for headers in ({"Origin": STRANGER}, {}):
            answer = await self.client.send("GET", self.core("configmaps"), headers=headers)
            self.assertNotIn("access-control-allow-origin", answer.headers)
            self.assertEqual(answer.headers["vary"], "Origin")

    async def test_watch(self) -> None:
        """A page may read an ordinary watch too."""
        watch = await self.new_client(Origin=ALLOWED).watch(f"{self.core('configmaps')}?watch=1")
        self.assertEqual(watch.headers["access-control-allow-origin"], ALLOWED)

    async def test_switched_off(self) -> None:
        """Without the flag no origin gets a header, and a preflight is 405."""
        server = await shared_server(self.mktemp(), "--vocabulary=orch")
        client = Client(server.port, tls_context(server.kubeconfig), {"Origin": ALLOWED})
        self.addCleanup(client.close)
        answers = [await client.get("/version"), await client.send("OPTIONS", "/version", headers=self.PREFLIGHT)]
        self.assertEqual([each.code for each in answers], [200, 405])
        for answer in answers:
            self.assertFalse({"vary", "access-control-allow-origin"} & set(answer.headers))


class ShutdownTests(TestCase):
    """The end of a server, and its limit on connections, with WebSockets open."""

    timeout = 120

    async def server(self, *flags: str) -> ServerProcess:
        server = ServerProcess(forking, self.mktemp(), *flags)
        await server.start()
        self.addCleanup(server.kill9)
        return server

    async def test_in_order(self) -> None:
        """At SIGTERM every WebSocket gets a normal close frame, and the process ends with status 0."""
        server = await self.server()
        context = tls_context(server.kubeconfig)
        sockets = [
            await WebSocketClient.open(server.port, context, "/api/v1/namespaces?watch=1&resourceVersion=0")
            for _ in range(3)
        ]
        for socket in sockets:
            self.addCleanup(socket.drop)
            self.assertEqual(event(await socket.message())[0], "ADDED")
        server.signal("TERM")
        for socket in sockets:
            self.assertEqual(await deferToThread(_code_at_end, socket), 1000)
        self.assertEqual(await server.ended(), 0)

    async def test_connection_limit(self) -> None:
        """A WebSocket is a connection of `--max-connections`: the next client's turn comes when it ends."""
        server = await self.server("--max-connections=1")
        context = tls_context(server.kubeconfig)
        socket = await WebSocketClient.open(server.port, context, "/api/v1/pods?watch=1&timeoutSeconds=1")
        self.addCleanup(socket.drop)
        client = Client(server.port, context)
        self.addCleanup(client.close)
        order: list[str] = []
        answer = Deferred.fromCoroutine(client.get("/version"))
        answer.addCallback(lambda _: order.append("answer"))
        ended = deferToThread(_code_at_end, socket, lambda: reactor.callFromThread(order.append, "end"))
        self.assertEqual(await ended, 1000)
        await answer.addTimeout(PATIENCE_S, reactor)
        self.assertEqual(order, ["end", "answer"])


def _code_at_end(socket: WebSocketClient, ended: Any = lambda: None) -> int:
    """Read to the close frame; `ended` is called before it is answered."""
    reply = socket.reply

    def notice(event: Any) -> None:
        ended()
        reply(event)

    socket.reply = notice  # type: ignore[method-assign]
    try:
        while True:
            socket.receive()
    except Closed as closed:
        return closed.code
