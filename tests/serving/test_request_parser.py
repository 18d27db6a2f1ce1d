"""Request heads and bodies out of bytes, whole or byte by byte."""

from __future__ import annotations

import sys
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Request
from orchtw.serving.header_names import KNOWN_NAMES
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.request_parser import HTTP10, KEEP_ALIVE, RequestParser, split_target
from tests.properties import examples
from tests.serving.edge_doubles import GET

POST = (
    b"POST /api/v1/pods?limit=5&x=a%20b HTTP/1.1\r\nHost: a\r\nX-Twice: one\r\nx-twice: two\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n"
)
PUT = b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"

# What must be refused, and with which code: framing that two parsers could read differently comes first.
REFUSED = {
    "both framings": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "both, reversed": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400),
    "two lengths": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
    "list of lengths": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 4\r\n\r\nabcd", 400),
    "negative length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n", 400),
    "signed length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc", 400),
    "hex length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc", 400),
    "huge length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
    "unknown coding": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "chunked not last": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400),
    "chunked twice": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    "disguised coding": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
    "coding in 1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "space before colon": (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    "space in name": (b"GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", 400),
    "folded header": (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400),
    "bare LF": (b"GET / HTTP/1.1\nHost: a\n\n", 400),
    "bare CR in value": (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", 400),
    "NUL in value": (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", 400),
    "no colon": (b"GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "no version": (b"GET /\r\n\r\n", 505),
    "version 2": (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    "version 0.9": (b"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
    "version 1.2": (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400),
    "lower-case protocol": (b"GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    "preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "space in target": (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "control in target": (b"GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "unknown method": (b"FETCH / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    "no method": (b"fetch / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "lower-case method": (b"get / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
    "other expectation": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: tea\r\n\r\n", 417),
    "chunk size not hex": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    "chunk size signed": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
    "chunk too long": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
    "chunk size LF": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\nb\r\n0\r\n\r\n", 400),
    "chunk size space": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\nb\r\n0\r\n\r\n",
        400,
    ),
    "chunk size overflow": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n",
        400,
    ),
    "upgrade with body": (
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 4\r\n\r\nGET ",
        400,
    ),
}


def parsed(*data: bytes, limits: EdgeLimits | None = None) -> RequestParser:
    parser = RequestParser(limits or EdgeLimits())
    for part in data:
        parser.feed(part)
    return parser


def essence(request: Request) -> tuple[str, str, str, dict[str, str], bytes]:
    return request.method, request.path, request.query, dict(request.headers), request.body


class RequestParserTests(SynchronousTestCase):
    def test_no_memory(self) -> None:
        """A request for which there is no memory is the server's fault, told with when to come again (ERR-41)."""
        with mock.patch.object(RequestParser, "on_body", side_effect=MemoryError):
            parser = RequestParser(EdgeLimits())
            parser.feed(PUT)
        assert parser.refusal is not None
        self.assertEqual((parser.refusal.code, parser.refusal.retry_after_s), (500, 1))

    def test_chunked_request(self) -> None:
        """Chunks are joined, repeated headers too; extensions and trailers are dropped (RFC 9112 §7.1)."""
        ((request, flags, _),) = parsed(POST).ready
        headers = {"host": "a", "x-twice": "one, two", "transfer-encoding": "chunked"}
        self.assertEqual(essence(request), ("POST", "/api/v1/pods", "limit=5&x=a%20b", headers, b"abcde"))
        self.assertEqual(flags, KEEP_ALIVE)
        self.assertEqual((request.lines("x-twice"), request.lines("host")), (["one", "two"], ("a",)))
        self.assertEqual(request.lines("x-never"), ())

    def test_lines_of_one_request(self) -> None:
        """Repeated headers of one request do not affect the next on its connection (reference AUTHN-38)."""
        (first, *_), (second, *_) = parsed(POST + PUT).ready
        self.assertEqual(list(first.repeated or ()), ["x-twice"])
        self.assertIsNone(second.repeated)

    def test_byte_by_byte(self) -> None:
        """Where the network cuts the bytes changes nothing."""
        data = POST + PUT + POST
        whole = [essence(request) for request, *_ in parsed(data).ready]
        single = [essence(request) for request, *_ in parsed(*(data[i : i + 1] for i in range(len(data)))).ready]
        self.assertEqual(len(whole), 3)
        self.assertEqual(whole, single)

    def test_refusals(self) -> None:
        """Ambiguous or malformed requests are refused, whole or byte by byte; none reaches the app
        (reference LIMIT-14).
        """
        for name, (data, code) in REFUSED.items():
            for parts in ([data], [data[i : i + 1] for i in range(len(data))]):
                parser = parsed(*parts)
                assert parser.refusal is not None, name
                self.assertEqual((parser.refusal.code, parser.ready), (code, []), name)

    @examples(100)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, data: bytes) -> None:
        """No bytes at all make the parser fail in another way than by a refusal."""
        parsed(PUT[:30], data, data)

    def test_keep_alive(self) -> None:
        """HTTP/1.1 keeps the connection unless told to close, HTTP/1.0 the other way round (RFC 9112 §9.3)."""
        cases = {
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n": KEEP_ALIVE,
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n": 0,
            b"GET / HTTP/1.0\r\n\r\n": HTTP10,
            b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n": HTTP10 | KEEP_ALIVE,
        }
        for data, flags in cases.items():
            self.assertEqual(parsed(data).ready[0][1], flags, data)

    def test_nothing_after_close(self) -> None:
        """Data after a request with `Connection: close` is ignored."""
        parser = parsed(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        self.assertEqual((len(parser.ready), parser.refusal), (1, None))

    def test_head_limit(self) -> None:
        """A head over the limit is a 431, in one header, in many or without an end (reference LIMIT-4)."""
        limits = EdgeLimits(head_bytes=1000)
        begin = b"GET / HTTP/1.1\r\nHost: a\r\n"
        for parts in ([b"X: " + b"x" * 500] * 3, [b"X: y\r\n"] * 200, [b"x" * 1100]):
            refusal = parsed(begin, *parts, limits=limits).refusal
            assert refusal is not None
            self.assertEqual(refusal.code, 431)
        self.assertIsNone(parsed(begin, b"X: " + b"x" * 900 + b"\r\n\r\n", limits=limits).refusal)

    def test_body_limit(self) -> None:
        """A body over the limit is a 413: declared, before it comes; chunked, when it passes (reference LIMIT-1)."""
        limits = EdgeLimits(body_bytes=10)
        declared = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for parts in ([declared % 11], [chunked, b"6\r\nabcdef\r\n", b"5\r\nabcde\r\n"]):
            refusal = parsed(*parts, limits=limits).refusal
            assert refusal is not None
            self.assertEqual((refusal.code, refusal.message), (413, "Request entity too large: limit is 10"))
        self.assertIsNone(parsed(declared % 10, b"x" * 10, limits=limits).refusal)

    def test_endless_framing(self) -> None:
        """Chunk extensions and trailers without an end are refused although the body stays small."""
        limits = EdgeLimits(body_bytes=10, head_bytes=1000)
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for part in (b"1;" + b"x" * 200, b"0\r\nX: " + b"y" * 200):
            refusal = parsed(chunked, part, *[b"z" * 200] * 6, limits=limits).refusal
            assert refusal is not None
            self.assertEqual(refusal.code, 413)

    def test_upgrade_leaves_the_rest(self) -> None:
        """Bytes after an upgrade request are handed back unparsed."""
        parser = RequestParser(EdgeLimits())
        rest = parser.feed(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nGET / raw")
        self.assertEqual((rest, len(parser.ready)), (b"GET / raw", 1))

    def test_sleep(self) -> None:
        """A parser that slept between requests goes on; one in the middle of a request loses nothing."""
        parser = RequestParser(EdgeLimits())
        for part in (PUT, PUT[:40], PUT[40:]):
            parser.feed(part)
            parser.sleep()
        self.assertEqual([request.body for request, *_ in parser.ready], [b"body", b"body"])


class CostTests(SynchronousTestCase):
    """No request costs more than linear time, nor memory beyond its own (reference LIMIT-8)."""

    HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"

    def refused(self, code: int, *data: bytes) -> None:
        refusal = parsed(*data).refusal
        self.assertEqual(refusal and refusal.code, code, refusal)

    def test_header_lines(self) -> None:
        """The line after the 1,000th is a 431, whether names differ or not, and in trailers too."""
        same, other = b"a:\r\n" * 998, b"".join(b"%x:\r\n" % i for i in range(998))
        for lines in (same, other):
            self.assertEqual(len(parsed(self.HEAD, lines, b"b:\r\n\r\n").ready), 1)
            self.refused(431, self.HEAD, lines, b"b:\r\nc:\r\n\r\n")
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        self.refused(431, chunked, b"a:\r\n" * 1001, b"\r\n")

    def test_a_mebibyte_of_lines(self) -> None:
        """A head of 1 MiB of short lines costs its first thousand."""
        lines = 0

        class Counting(RequestParser):
            def _count_line(self) -> None:
                nonlocal lines
                lines += 1
                super()._count_line()

        counting = Counting(EdgeLimits())
        counting.feed(self.HEAD)
        for _ in range(64):
            counting.feed(b"a:\r\n" * 4096)
        self.assertEqual(counting.refusal and counting.refusal.code, 431)
        self.assertLess(lines, 1001)

    def test_names(self) -> None:
        """A name over 1 KiB is a 431; no name of a client's choosing is kept, whatever its length."""
        before = dict(KNOWN_NAMES)
        self.refused(431, self.HEAD, b"n" * 1025 + b": x\r\n\r\n")
        ((request, *_),) = parsed(self.HEAD, b"N" * 1024 + b": x\r\nX-New: y\r\nUser-Agent: z\r\n\r\n").ready
        self.assertEqual(request.headers, {"host": "a", "n" * 1024: "x", "x-new": "y", "user-agent": "z"})
        self.assertEqual(KNOWN_NAMES, before)

    def test_trickle(self) -> None:
        """A long target, header or trailer that comes byte by byte is joined a few hundred times, not a million."""
        begin = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "
        for start in (b"GET /", self.HEAD + b"X: ", begin):
            parser = parsed(start)
            llhttp = Feeds(parser._parser)
            parser._parser = llhttp
            for _ in range(100_000):
                parser.feed(b"a")
            self.assertLess(llhttp.count, 4200, start)
            self.assertIsNone(parser.refusal)

    def test_gathered_parts_are_parsed(self) -> None:
        """All gathered data is present in the end."""
        long = b"b" * 9000
        data = self.HEAD + b"X: " + long + b"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;" + long
        data += b"\r\nc\r\n0\r\n\r\n" + self.HEAD + b"\r\n"
        parser = parsed(*(data[i : i + 7] for i in range(0, len(data), 7)))
        (first, *_), (second, *_) = parser.ready
        self.assertEqual((first.headers["x"], first.body, second.headers), (long.decode(), b"abc", {"host": "a"}))

    def test_small_chunks(self) -> None:
        """A body in chunks of two bytes takes the memory of a body."""
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        parser = parsed(chunked, *[b"2\r\nab\r\n" * 1000] * 20)
        self.assertLess(sys.getsizeof(parser._body), 50_000)
        self.assertLess(parser.held_bytes, 50_000)
        parser.feed(b"0\r\n\r\n")
        self.assertEqual(parser.ready[0][0].body, b"ab" * 20_000)

    def test_endless_trailers(self) -> None:
        """Trailers and extensions end at the size of a head, however long the body before them was."""
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + b"x" * (1 << 20)
        for part in (b"\r\n0\r\nX: ", b"\r\n1;"):
            self.refused(413, chunked + part, *[b"y" * 65536] * 17)

    def test_parameters(self) -> None:
        """A thousand parameters are read, one more is a 400."""
        self.assertEqual(len(parsed(b"GET /?" + b"a&" * 999 + b"a HTTP/1.1\r\nHost: a\r\n\r\n").ready), 1)
        self.refused(400, b"GET /?" + b"a&" * 1000 + b"a HTTP/1.1\r\nHost: a\r\n\r\n")

    def test_escapes(self) -> None:
        """A long target is read if it is plain; one with more than 16,384 escaped characters is a 414."""
        end = b" HTTP/1.1\r\nHost: a\r\n\r\n"
        for target in (b"a" * 900_000, b"%41" * 16_384):
            self.assertEqual(len(parsed(b"GET /" + target + end).ready), 1)
        self.refused(414, b"GET /" + b"%41" * 16_385 + end)

    def test_segments(self) -> None:
        """A path of more than 16,384 segments is a 414."""
        end = b" HTTP/1.1\r\nHost: a\r\n\r\n"
        self.assertEqual(len(parsed(b"GET " + b"/a" * 16_384 + end).ready), 1)
        self.refused(414, b"GET " + b"/a" * 16_385 + end)

    def test_lists(self) -> None:
        """Headers that are taken apart may be 16 KiB together; others may fill the head."""
        for name in (b"Accept", b"Accept-Encoding", b"Impersonate-Group", b"Impersonate-Extra-X"):
            self.refused(431, self.HEAD, name + b": " + b"a," * 8193, b"\r\n\r\n")
        self.assertEqual(len(parsed(self.HEAD, b"Cookie: " + b"a;" * 300_000, b"\r\n\r\n").ready), 1)

    def test_held(self) -> None:
        """Held bytes count: a head, a body as announced, waiting requests, and long ones in service."""
        parser = parsed(self.HEAD + b"X: " + b"x" * 5000)
        self.assertGreaterEqual(parser.held_bytes, 5000)
        parser = parsed(PUT.replace(b"Length: 4", b"Length: 3000000"))
        self.assertGreaterEqual(parser.held_bytes, 3_000_000)
        parser = parsed(GET * 50)
        self.assertGreaterEqual(parser.held_bytes, 50 * 1000)
        ((_, _, size),) = parsed(self.HEAD + b"X: ", b"x" * 50_000, b"\r\n\r\n").ready
        self.assertGreaterEqual(size, 50_000)
        parser.close()
        self.assertEqual(parser.held_bytes, 0)


class Feeds:
    """An llhttp parser that counts how often it is fed."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self.count = 0

    def feed_data(self, data: bytes) -> None:
        self.count += 1
        self._parser.feed_data(data)


class SplitTargetTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Every form of a request target gives the raw path and query (RFC 9112 §3.2)."""
        cases = {
            "/": ("/", ""),
            "/a%2Fb?": ("/a%2Fb", ""),
            "/a?b?c=/d": ("/a", "b?c=/d"),
            "//a/b": ("//a/b", ""),
            "https://h:1/a?b": ("/a", "b"),
            "https://h": ("/", ""),
            "*": ("*", ""),
        }
        for target, expected in cases.items():
            self.assertEqual(split_target(target), expected)


HEADS = (
    b"Host: a\r\nUser-Agent: b\r\n\r\n",
    b"Host: a\r\nuser-agent: b\r\n\r\n",
    b"Host: a\r\nConnection: close\r\n\r\n",
    b"Host: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    b"Host: a\r\nContent-Length: 2\r\n\r\nab",
    b"Host: a\r\nContent-Length: 0\r\n\r\n",
    b"Host: a\r\nX: 1\r\nX: 2\r\n\r\n",
    b"Host: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    b"Host: a\r\nX: \xe9\r\n\r\n",
    b"X: 1\r\n\r\n",
    b"Host: a\r\nHost: a\r\n\r\n",
    b"Host: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
)
LINES = (
    b"GET /a HTTP/1.1\r\n", b"GET /b?c=%20d&e HTTP/1.1\r\n", b"GET /b HTTP/1.0\r\n", b"HEAD /a HTTP/1.1\r\n",
    b"POST /a HTTP/1.1\r\n", b"GET http://a/b HTTP/1.1\r\n", b"GET * HTTP/1.1\r\n", b"GET /a#b HTTP/1.1\r\n",
    b"\r\nGET /a HTTP/1.1\r\n", b"GET  /a HTTP/1.1\r\n", b"GET /\xe9 HTTP/1.1\r\n", b"GET /a b HTTP/1.1\r\n",
    b"GET /a HTTP/1.1\r\nX: GET /b HTTP/1.1\r\n", b"GET /" + b"x" * 2000 + b" HTTP/1.1\r\n",
    b"GET /?" + b"&" * 1000 + b" HTTP/1.1\r\n", b"get /a HTTP/1.1\r\n", b"GET /a HTTP/1.1\n",
)  # fmt: skip


class SameHeadTests(SynchronousTestCase):
    """Heads that repeat the last one but for the target (`RequestParser`)."""

    def told(self, parser: RequestParser, data: bytes) -> tuple[object, ...]:
        """Feed a parser, and return all that comes of it."""
        rest = parser.feed(data)
        found = [
            (each.method, each.path, each.query, dict(each.headers), each.repeated, each.body, flags, size)
            for each, flags, size in parser.ready
        ]
        parser.ready.clear()
        return rest, found, str(parser.refusal), parser.closed, parser.mid, parser.expects_continue

    @given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(HEADS)), min_size=1, max_size=6), st.data())
    @examples(300)
    def test_as_parsed(self, requests: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
        """A head that is known again means what llhttp makes of it, whatever comes before and in whatever parts."""
        short, whole = RequestParser(EdgeLimits()), RequestParser(EdgeLimits())
        with mock.patch.object(RequestParser, "_same_again", return_value=False):
            expected = []
            cuts = [data.draw(st.sampled_from((0, 0, 0, 1, 7))) for _ in requests]
            parts = [
                part for (line, head), cut in zip(requests, cuts, strict=True)
                for part in ((line + head)[:cut], (line + head)[cut:]) if part
            ]  # fmt: skip
            for part in parts:
                expected.append(self.told(whole, part))
        self.assertEqual([self.told(short, part) for part in parts], expected)

    def test_known_again(self) -> None:
        """The second such head is not parsed again, and its request shares what is known of the first."""
        parser = RequestParser(EdgeLimits())
        parser.feed(LINES[0] + HEADS[0])
        with mock.patch.object(RequestParser, "on_message_begin", side_effect=AssertionError):
            parser.feed(LINES[1] + HEADS[0])
        (first, _, _), (second, flags, size) = parser.ready
        self.assertEqual((second.path, second.query, flags, size), ("/b", "c=%20d&e", KEEP_ALIVE, 0))
        self.assertIs(first.same_head, second.same_head)
        self.assertEqual(second.headers, {"host": "a", "user-agent": "b"})

    def test_senders_known_again(self) -> None:
        """Requests with bodies share what is known of their sender while their headers are equal."""
        parser = RequestParser(EdgeLimits())
        for lines in ("", "", "x: y\r\n", "x: y\r\nx: z\r\n", f"x: {'y' * 5000}\r\n", ""):
            parser.feed(f"PUT /a HTTP/1.1\r\nhost: a\r\n{lines}content-length: 1\r\n\r\nb".encode())
        heads = [request.same_head for request, _, _ in parser.ready]
        self.assertIs(heads[0], heads[1])
        self.assertEqual([head is None for head in heads], [False, False, False, True, True, False])
        self.assertEqual(len({id(head) for head in heads}), 4)
        parser.sleep()
        self.assertIsNone(parser._same_sender)  # noqa: SLF001

    def test_released(self) -> None:
        """A connection that sleeps or is closed keeps no head."""
        for release in (RequestParser.sleep, RequestParser.close):
            parser = RequestParser(EdgeLimits())
            parser.feed(LINES[0] + HEADS[0])
            parser.ready.clear()
            release(parser)
            self.assertIsNone(parser._same_head)  # noqa: SLF001
