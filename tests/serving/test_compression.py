"""Compression of response bodies by gzip."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import MarkedPieces, Request, Response
from orchtw.serving.compression import accepts_gzip
from orchtw.serving.response_bodies import unframed
from tests.properties import examples
from tests.serving.edge_doubles import GET, Wire, ok

GZIP_GET = GET[:-2] + b"Accept-Encoding: gzip\r\n\r\n"
PIECES = [b'{"kind":"Pod","number":%d}' % i * 100 for i in range(1000)]


class Marked(MarkedPieces):
    """Pieces that are marked by their contents, but for the first one; counts what is made of them."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces
        self.made: list[int] = []

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, index: Any) -> Any:
        self.made.append(index)
        return self.pieces[index]

    def mark(self, index: int) -> bytes | None:
        return self.pieces[index] if index else None


class Threads:
    """Runs nothing until told, as a busy pool would."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Deferred[bytes], Callable[..., bytes], Any]] = []

    def __call__(self, function: Callable[..., bytes], *arguments: Any) -> Deferred[bytes]:
        job: Deferred[bytes] = Deferred()
        self.jobs.append((job, function, arguments))
        return job

    def run_one(self) -> None:
        job, function, arguments = self.jobs.pop(0)
        job.callback(function(*arguments))


def app_of(response: Callable[[], Response]) -> Any:
    async def app(_request: Request) -> Response:
        return response()

    return app


class AcceptsGzipTests(SynchronousTestCase):
    def test_qualities(self) -> None:
        """gzip is accepted when named, or covered by a star, with a quality above 0 (RFC 9110 §12.5.3)."""
        cases = {
            "gzip": True,
            "GZIP, deflate, br": True,
            "deflate, gzip;q=0.5": True,
            "gzip;q=0": False,
            "gzip; q=0.000": False,
            "*": True,
            "*;q=0": False,
            "gzip;q=0, *": False,
            "*;q=0, gzip": True,
            "identity": False,
            "": False,
            "gzip;q=x": False,
            "xgzip": False,
        }
        for header, expected in cases.items():
            self.assertEqual(accepts_gzip(header), expected, header)


class GzipBodyTests(SynchronousTestCase):
    def wire(self, threads: Threads, response: Callable[[], Response] = lambda: Response(body=PIECES)) -> Wire:
        return Wire(app_of(response), run_in_thread=threads)

    def test_long_body(self) -> None:
        """A long body is compressed part by part in a thread, one part at a time, and chunked."""
        threads = Threads()
        wire = self.wire(threads)
        written = wire.send(GZIP_GET)
        while threads.jobs:
            self.assertEqual(len(threads.jobs), 1)
            threads.run_one()
            written += wire.transport.taken()
        head, _, body = written.partition(b"\r\n\r\n")
        for line in (b"Content-Encoding: gzip", b"Vary: Accept-Encoding", b"Transfer-Encoding: chunked"):
            self.assertIn(line, head)
        self.assertNotIn(b"Content-Length", head)
        self.assertTrue(body.endswith(b"0\r\n\r\n"))
        self.assertEqual(gzip.decompress(unframed(body)), b"".join(PIECES))
        self.assertFalse(wire.closed)

    def test_not_compressed(self) -> None:
        """Short bodies, unwilling clients, HEAD, HTTP/1.0 and bodies already encoded go out as they are."""
        encoded = Response(body=b"x" * 200000, headers=[("content-encoding", "br")])
        cases: list[tuple[bytes, Response]] = [
            (GZIP_GET, Response(body=b"x" * 128 * 1024)),
            (GET, Response(body=b"x" * 200000)),
            (GZIP_GET, encoded),
            (GZIP_GET.replace(b"GET", b"HEAD"), Response(body=b"x" * 200000)),
            (GZIP_GET.replace(b"1.1", b"1.0"), Response(body=b"x" * 200000)),
        ]
        for data, response in cases:
            wire = self.wire(Threads(), lambda response=response: response)  # type: ignore[misc]
            self.assertNotIn(b"gzip", wire.send(data).partition(b"\r\n\r\n")[0])

    def test_slow_client(self) -> None:
        """While the client reads nothing, nothing more is compressed."""
        threads = Threads()
        noise = [bytes((i * j * 7919 >> 5) % 256 for j in range(4096)) for i in range(300)]
        wire = self.wire(threads, lambda: Response(body=noise))
        wire.send(GZIP_GET)
        wire.transport.blocked = True
        while threads.jobs and not wire.transport.unsent > 65536:
            threads.run_one()
        self.assertEqual(threads.jobs, [])
        wire.transport.drain()
        self.assertEqual(len(threads.jobs), 1)

    def test_client_leaves(self) -> None:
        """When the client leaves, the part in the thread is the last."""
        threads = Threads()
        wire = self.wire(threads)
        wire.send(GZIP_GET)
        producer: Any = wire.transport.producer
        producer.stopProducing()
        wire.channel.connectionLost(Failure(ConnectionDone()))
        threads.run_one()
        self.assertEqual((threads.jobs, wire.transport.taken(), wire.edge.in_flight), ([], b"", 0))

    def test_next_request(self) -> None:
        """The connection goes on after a compressed answer."""
        threads = Threads()
        wire = self.wire(threads, iter([Response(body=PIECES), Response(body=b"2")]).__next__)
        wire.send(GZIP_GET + GET)
        while threads.jobs:
            threads.run_one()
        self.assertTrue(wire.transport.taken().endswith(b"0\r\n\r\n" + ok(b"2")))


class MarkedPiecesTests(SynchronousTestCase):
    """Pieces of lists that have been compressed for another list."""

    def setUp(self) -> None:
        self.threads = Threads()
        self.bodies: list[Marked] = []
        self.identity = "list"
        self.wire = Wire(app_of(self.response), run_in_thread=self.threads)

    def response(self) -> Response:
        body = self.bodies[-1]
        return Response(body=body, length=sum(map(len, body.pieces)), identity=self.identity)

    def ask(self, pieces: Sequence[bytes]) -> list[int]:
        """Check the answer with these pieces; return which of them were made."""
        self.bodies.append(Marked(pieces))
        written = self.wire.send(GZIP_GET)
        while self.threads.jobs:
            self.assertEqual(len(self.threads.jobs), 1)
            self.threads.run_one()
            written += self.wire.transport.taken()
        body = unframed(written.partition(b"\r\n\r\n")[2])
        self.assertEqual(gzip.decompress(body), b"".join(pieces))
        return self.bodies[-1].made

    def test_again(self) -> None:
        """A piece that was compressed before is not made again, wherever it stands; one without a mark is."""
        self.assertEqual(self.ask(PIECES), list(range(len(PIECES))))
        self.assertEqual(self.ask(PIECES), [0])
        changed = [*PIECES[:300], b"new" * 1000, *PIECES[301:]]
        self.assertEqual(self.ask(changed), [0, 300])
        self.assertEqual(self.ask([b"head", *PIECES[500:], *changed[300:400]]), [0])

    def test_another_identity(self) -> None:
        """Pieces of another identity are others, whatever their marks."""
        self.ask(PIECES)
        self.identity = "other"
        self.assertEqual(len(self.ask(PIECES)), len(PIECES))

    @examples(100)

    @given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=200), min_size=1, max_size=4))
    def test_any_order(self, lists: list[list[int]]) -> None:
        """Whatever has been kept, the answer is the same as without compression."""
        contents = [bytes([65 + number]) * (number * number * 1000) for number in range(12)]
        for numbers in lists:
            self.ask([b"x" * 150_000, *map(contents.__getitem__, numbers)])
