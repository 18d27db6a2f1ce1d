"""HTTP of tests over a network of bytes: bodies in pieces, broken responses, kept connections."""
# covers: orchtw.testing.control.blocking

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.blocking import finish
from orchtw.testing.control.http import HttpClient, ServerRequest, path_of

T = TypeVar("T")

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GET = ServerRequest(method="GET", path="/x")


def whole(body: bytes, head: bytes = HEAD) -> bytes:
    """Return a response with a length."""
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


class FakeConnection:
    """Connection that hands out these pieces; None is a timeout."""

    def __init__(self, *pieces: bytes | None) -> None:
        self.sent = b""
        self.closed = False
        self.is_idle = True
        self._pieces = list(pieces)

    async def send(self, data: bytes) -> None:
        self.sent += data

    async def receive(self, timeout_s: float) -> bytes:
        piece = self._pieces.pop(0) if self._pieces else b""
        if piece is None:
            raise TimeoutError
        return piece

    def idle(self) -> bool:
        return self.is_idle and not self.closed

    def close(self) -> None:
        self.closed = True


class FakeNetwork:
    """Network whose connections are these, one after the other."""

    def __init__(self, *connections: FakeConnection) -> None:
        self.connections = list(connections)

    async def connect(self, host: str, port: int, ca_pem: str) -> FakeConnection:
        return self.connections.pop(0)

    async def run(self, work: Callable[[], T]) -> T:
        return work()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits")


class HttpClientTests(SynchronousTestCase):
    def client(self, *connections: FakeConnection) -> HttpClient:
        """Return a client with these connections to come."""
        return HttpClient(FakeNetwork(*connections), "https://127.0.0.1:7443", "", "secret")

    def lines(self, *pieces: bytes | None) -> list[bytes | None | str]:
        """Return the lines of a streamed body in these pieces, and what they end with."""
        connection = FakeConnection(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *pieces)

        async def read() -> list[bytes | None | str]:
            found: list[bytes | None | str] = []
            async with self.client(connection).lines(GET) as lines:
                while not found or found[-1] is not None:
                    try:
                        found.append(await lines.next(1))
                    except TimeoutError:
                        found.append("timeout")
            return found

        found = finish(read())
        self.assertTrue(connection.closed)
        return found

    def fails(self, coroutine: Coroutine[Any, Any, Any], error: type[Exception]) -> Exception:
        """Return the error of a coroutine."""
        found: Exception = self.assertRaises(error, finish, coroutine)
        return found

    def test_request(self) -> None:
        """A request has the token, and its body is JSON unless it is bytes."""
        connection = FakeConnection(whole(b"{}"), whole(b"{}"))
        client = self.client(connection)
        finish(client.answer(ServerRequest(method="POST", path="/x?y=1", body={"a": "ü"})))
        self.assertTrue(connection.sent.startswith(b"POST /x?y=1 HTTP/1.1\r\n"))
        for part in (b"Host: 127.0.0.1:7443", b"Authorization: Bearer secret", b"Content-Type: application/json"):
            self.assertIn(part, connection.sent)
        finish(client.answer(ServerRequest(method="PUT", path="/x", body=b"raw", headers={"Content-Type": "text/x"})))
        self.assertTrue(connection.sent.endswith(b"Content-Length: 3\r\n\r\nraw"))

    def test_byte_by_byte(self) -> None:
        """A response may come in any pieces."""
        text = whole(b'{"a": 1}')
        answer = finish(self.client(FakeConnection(*(text[at : at + 1] for at in range(len(text))))).answer(GET))
        self.assertEqual(
            (answer.code, answer.json, answer.headers["content-type"]), (200, {"a": 1}, "application/json")
        )

    def test_kept(self) -> None:
        """A connection is used again when its response has been read."""
        connection = FakeConnection(whole(b"1"), whole(b"2"))
        client = self.client(connection)
        self.assertEqual([finish(client.answer(GET)).json for _ in range(2)], [1, 2])
        client.close()
        self.assertTrue(connection.closed)

    def test_gone_while_kept(self) -> None:
        """One that the server has closed since is not."""
        first, second = FakeConnection(whole(b"1")), FakeConnection(whole(b"2"))
        client = self.client(first, second)
        finish(client.answer(GET))
        first.is_idle = False
        self.assertEqual(finish(client.answer(GET)).json, 2)
        self.assertTrue(first.closed)

    def test_not_kept(self) -> None:
        """Nor is one that the response closes."""
        connection = FakeConnection(whole(b"1", HEAD + b"Connection: close\r\n"))
        finish(self.client(connection).answer(GET))
        self.assertTrue(connection.closed)

    def test_broken(self) -> None:
        """A response that breaks off, before or in its body, is an error, and so is one that is late."""
        for pieces in ((), (HEAD,), (whole(b"{}")[:-1],), (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",)):
            connection = FakeConnection(*pieces)
            self.fails(self.client(connection).answer(GET), ConnectionError)
            self.assertTrue(connection.closed)
        self.fails(self.client(FakeConnection(HEAD, None)).answer(GET), TimeoutError)

    def test_lines(self) -> None:
        """Lines come out whole, whatever the pieces, with nothing lost by a timeout."""
        self.assertEqual(self.lines(b"4\r\na\nb\n\r\n", b"0\r\n\r\n"), [b"a", b"b", None])
        self.assertEqual(self.lines(b"1\r\na\r\n", None, b"1\r\n\n\r\n0\r\n\r\n"), ["timeout", b"a", None])
        self.assertEqual(self.lines(b"3\r\na\n\n\r\n"), [b"a", None])

    def test_refused_stream(self) -> None:
        """A stream that is refused raises the Status's error."""
        body = b'{"kind": "Status", "reason": "Expired", "message": "too old", "code": 410}'
        client = self.client(FakeConnection(whole(body, b"HTTP/1.1 410 Gone\r\n")))

        async def read() -> None:
            async with client.lines(GET):
                raise AssertionError("there is no stream")

        error = self.fails(read(), ApiError)
        self.assertEqual(str(error), "GET /x: 410 Expired: too old")

    def test_paths(self) -> None:
        """Empty parameters are left out, others are quoted."""
        self.assertEqual(path_of("/x", a="", b=None), "/x")
        self.assertEqual(path_of("/x", a="b c", path="/y"), "/x?a=b%20c&path=%2Fy")

    def test_suspended(self) -> None:
        """Coroutines that need a loop are not run without one."""

        class Waiting:
            def __await__(self) -> Any:
                yield

        async def wait() -> None:
            await Waiting()

        self.fails(wait(), RuntimeError)
