from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Request, Response
from orchtw.serving.compression import GzipCache, accepts_gzip, text_size
from orchtw.serving.response_bodies import unframed
from tests.serving.edge_doubles import GET, Wire, ok

GZIP_GET = GET[:-2] + b"Accept-Encoding: gzip\r\n\r\n"
PIECES = [b'{"kind":"Pod","number":%d}' % i * 100 for i in range(1000)]


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


@attrs.frozen
class Selection:
    """An identity's part that clients choose, with something derived that does not make it what it is."""

    text: str
    derived: str = attrs.field(default="x" * 100_000, eq=False)


class Resource:
    """An identity's part that is only itself."""

    name = "x" * 100_000


class GzipCacheTests(SynchronousTestCase):
    def test_long_identities(self) -> None:
        """150 bodies of selectors and tokens of 1 MB each leave nothing behind (reference LIMIT-12)."""
        cache = GzipCache()
        for i in range(150):
            long = str(i) + "x" * 1_000_000
            for identity in ((Selection(long), 1), (frozenset({long}),), ("a", ("b", long)), (tuple(str(i) * 3000),)):
                cache.put(identity, b"body")
        self.assertEqual(len(cache), 0)

    def test_usual_identities(self) -> None:
        """Lists that clients share are cached: a resource, a version, a usual selector."""
        cache, identity = GzipCache(), (Resource(), Selection("app in (a,b)"), 7, None, "")
        cache.put(identity, b"body")
        self.assertEqual((cache.get(identity), text_size(identity)), (b"body", 12 + 5))

    def test_bound(self) -> None:
        """Bodies and identities together stay within the bound, however short the bodies are."""
        cache = GzipCache(32 << 20)
        for i in range(10_000):
            cache.put((i,), b"body")
        self.assertLessEqual(len(cache), 512)
        for i in range(10):
            cache.put((i, "long"), b"x" * (8 << 20))
        self.assertLessEqual(len(cache), 4)
        cache.put("longer", b"x" * ((8 << 20) + 1))
        self.assertIsNone(cache.get("longer"))

    def test_give_up(self) -> None:
        """Unused entries are evicted, the coldest first (reference LIMIT-19)."""
        cache = GzipCache()
        for name in "abcd":
            cache.put(name, b"x" * 100_000)
        each = cache.used_bytes // 4
        cache.give_up(each)
        self.assertEqual(len(cache), 4)
        cache.get("a")
        cache.give_up(each)
        self.assertEqual([cache.get(name) is None for name in "abcd"], [False, True, False, False])
        cache.give_up(4 * each)
        self.assertEqual((len(cache), cache.used_bytes), (3, 3 * each))
        cache.give_up(4 * each)
        self.assertEqual((len(cache), cache.used_bytes), (0, 0))
