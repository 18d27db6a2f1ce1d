"""Parser of HTTP/1.x requests: llhttp's parsing, our limits and errors. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httptools

from orchtw.errors import BadRequest, InternalError, MethodNotAllowed, RequestEntityTooLarge, StatusError
from orchtw.request import Peer, Request, SameHead
from orchtw.serving.header_names import KNOWN_NAMES
from orchtw.serving.limits import (
    ESCAPES,
    FREE_BYTES,
    NAME_BYTES,
    PARAMETERS,
    SAME_BYTES,
    SLASHES,
    EdgeLimits,
    ExpectationFailed,
    HeadersTooLarge,
    NotImplementedByEdge,
    TargetTooLong,
    VersionNotSupported,
)

# What is known about a complete request beside the request itself.
KEEP_ALIVE, HTTP10, UPGRADE = 1, 2, 4

# Chunk sizes, extensions and trailers may make a body on the wire this much larger than its content.
_CHUNK_OVERHEAD = 8

_METHOD = re.compile(rb"[A-Z]+( |$)")

# llhttp joins a header's parts in time that grows with what is there: after so much of a request, small reads are
# gathered up to that size or to the next line end.
_GATHER_BYTES = 4096
# Memory of a header line and of a waiting request beside their bytes.
_LINE_BYTES = 128
_REQUEST_BYTES = 2048
# More header lines than any well-meaning client sends: from here on their memory counts.
_MANY_LINES = 64

# Between requests; each begins with a dictionary of its own.
_NO_HEADERS: dict[str, str] = {}

# A GET up to its target, which is of characters that llhttp takes as they are, and short enough not to be checked.
_PLAIN_GET = re.compile(rb"GET (/[A-Za-z0-9/._~:@!$&'()*+,;=%%?-]{0,%d})" % (PARAMETERS - 1))
_VERSION = b" HTTP/1.1\r\n"
# Headers with which a head is not all there is to a request, or which end the connection.
_OF_CONNECTIONS = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)

_UNKNOWN_PEER = Peer(address="", port=0)


class _RefusedError(Exception):
    """Error that ends llhttp's run; the reason is in `refusal`."""


class RequestParser:
    """Parser that collects complete requests in `ready`, in order, each with its flags and the bytes to count.

    `mid`: a request has begun and is not complete; `head_done`: its head is; `expects_continue`: its client waits for
    a 100 before it sends the body, of declared size `expected_bytes`. After a `refusal` nothing more is read: it is
    to be answered after everything in `ready`, and the connection closed.
    """

    __slots__ = (
        "_after_target",
        "_again",
        "_body",
        "_fed",
        "_gathered",
        "_head_bytes",
        "_headers",
        "_limits",
        "_parser",
        "_quiet",
        "_repeated",
        "_same_head",
        "_same_sender",
        "_url",
        "closed",
        "expected_bytes",
        "expects_continue",
        "head_done",
        "mid",
        "peer",
        "ready",
        "refusal",
    )

    def __init__(self, limits: EdgeLimits) -> None:
        self._limits = limits
        self._parser: Any = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[str, str] = _NO_HEADERS
        self._repeated: dict[str, list[str]] | None = None
        self._body: bytes | bytearray = b""
        self._gathered: bytearray | None = None
        # The last plain head behind its target, and its headers: see `_same_again`.
        self._after_target = b""
        self._same_head: SameHead | None = None
        # The last head of a request with a body, for those that follow.
        self._same_sender: SameHead | None = None
        # Of the request under way: lines beside the first of each name, and bytes that were fed for it, for its
        # head, and since its body last grew.
        self._again = self._fed = self._head_bytes = self._quiet = self.expected_bytes = 0
        self.head_done = self.mid = self.expects_continue = self.closed = False
        self.peer = _UNKNOWN_PEER
        self.ready: list[tuple[Request, int, int]] = []
        self.refusal: StatusError | None = None

    def feed(self, data: bytes) -> bytes:
        """Parse `data`. Returns what follows an upgrade request: another protocol's bytes, perhaps."""
        rest = b""
        if self.refusal is not None or self.closed:
            return rest
        if self._fed > _GATHER_BYTES:
            data = self._gather(data)
            if not data:
                return rest
        fresh = not self.mid
        if fresh and self._same_head is not None and self._same_again(data, self._same_head):
            return rest
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
            if fresh and not self.mid:
                self._note_head(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as problem:
            self._malformed(problem, data)
        if self.mid:
            self._measure(len(data))
        return rest

    def _same_again(self, data: bytes, head: SameHead) -> bool:
        """Add a request whose head differs from the last plain one in nothing but its target; False: it is another.

        Bytes that llhttp has parsed once, behind a target of plain characters, mean the same again. Most requests of
        a connection differ in their target alone: 9 of the 29 microseconds of a planned get without TLS.
        """
        if not data.endswith(self._after_target):
            return False
        target = _PLAIN_GET.fullmatch(data, 0, len(data) - len(self._after_target))
        if target is None:
            return False
        path, _, query = target[1].decode("ascii").partition("?")
        request = Request(
            method="GET", path=path, query=query, headers=head.headers, peer=self.peer, same_head=head
        )
        self.ready.append((request, KEEP_ALIVE, 0))
        return True

    def _note_head(self, data: bytes) -> None:
        """Remember the head of a GET that came by itself, if nothing of it concerns the connection or a body."""
        at = data.find(_VERSION)
        if len(data) > SAME_BYTES or at < 0 or data.find(b"\r\n\r\n") != len(data) - 4 or len(self.ready) != 1:
            return
        request, flags, size = self.ready[0]
        headers = request.headers
        if flags != KEEP_ALIVE or size or request.repeated or not _OF_CONNECTIONS.isdisjoint(headers):
            return
        if _PLAIN_GET.fullmatch(data, 0, at):
            self._after_target = data[at:]
            self._same_head = request.same_head = SameHead(headers)

    def close(self) -> None:
        """Drop the parser, which refers back to this object, and what it holds."""
        self.closed = True
        self.mid = False
        self._parser = None
        self._body = self._url = b""
        self._headers = _NO_HEADERS
        self._repeated = self._gathered = self._same_head = self._same_sender = None
        self.ready.clear()

    def sleep(self) -> None:
        """Free the parser between two requests, while a stream runs: idle watches are many."""
        if not self.mid:
            self._parser = self._same_head = self._same_sender = None
            self._after_target = self._url = b""

    @property
    def held_bytes(self) -> int:
        """About what the requests that are not complete, or complete and not yet taken, hold of memory."""
        held = sum(size or _REQUEST_BYTES for _, _, size in self.ready)
        return held + self._size() if self.mid else held

    def head(self) -> Request:
        """Return the request under way without its body; its head is complete."""
        path, query = split_target(self._url.decode("latin-1"))
        method = self._parser.get_method().decode("ascii")
        return Request(
            method=method, path=path, query=query, headers=self._headers, repeated=self._repeated, peer=self.peer
        )

    @property
    def head_is_known(self) -> bool:
        """Report whether a request is under way whose head is complete and small."""
        return self.mid and self.head_done and self._head_bytes < FREE_BYTES

    def _size(self) -> int:
        # Announced bytes count as received: otherwise many uploads would begin and none could end.
        body = max(len(self._body), self.expected_bytes)
        return self._head_bytes + body + _LINE_BYTES * (len(self._headers) + self._again)

    def _gather(self, data: bytes) -> bytes:
        """Return the data to parse now: parts of lines wait for each other, plain bodies never."""
        gathered = self._gathered
        if gathered is None:
            if len(data) >= _GATHER_BYTES or (self.head_done and self.expected_bytes):
                return data
            gathered = self._gathered = bytearray()
        gathered += data
        if len(gathered) < _GATHER_BYTES and b"\n" not in data:
            return b""
        self._gathered = None
        return bytes(gathered)

    def _malformed(self, problem: Exception, data: bytes) -> None:
        """Set the refusal: 405 for an unknown method in capitals (reference REQ-14), 400 for anything else.

        Lack of memory is not the client's fault (reference ERR-41).
        """
        if self.refusal is None and isinstance(problem.__context__, MemoryError):
            self.refusal = InternalError.no_memory()
        elif self.refusal is None and not self.closed:
            unknown = isinstance(problem, httptools.HttpParserInvalidMethodError) and _METHOD.match(data)
            self.refusal = MethodNotAllowed() if unknown else BadRequest(f"malformed HTTP request: {problem}")

    def _measure(self, size: int) -> None:
        # llhttp gathers a header across feeds before it calls back, so bytes are counted here as well.
        self._fed += size
        limits = self._limits
        if not self.head_done:
            self._head_bytes = self._fed
            if self._fed > limits.head_bytes:
                self.refusal = self.refusal or HeadersTooLarge("request header is too large")
            return
        self._quiet += size
        if self._quiet > limits.head_bytes or self._fed > limits.head_bytes + _CHUNK_OVERHEAD * limits.body_bytes:
            self.refusal = self.refusal or RequestEntityTooLarge.limit(limits.body_bytes)

    def _refuse(self, refusal: StatusError) -> None:
        self.refusal = refusal
        raise _RefusedError

    # llhttp's callbacks

    def on_message_begin(self) -> None:
        """Begin a request at its first byte."""
        self.mid = True
        self.head_done = self.expects_continue = False
        self._again = self._fed = self._head_bytes = self._quiet = self.expected_bytes = 0
        self._url = self._body = b""
        self._headers = {}
        self._repeated = None

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self._url = self._url + url if self._url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add one header line; trailers after a chunked body are dropped."""
        if self.head_done:
            self._count_line()
            return
        key = KNOWN_NAMES.get(name) or self._unusual(name)
        text = value.decode("latin-1").strip(" \t")
        headers = self._headers
        if key in headers:
            self._repeat(key, text)
        else:
            headers[key] = text

    def _unusual(self, name: bytes) -> str:
        if len(name) > NAME_BYTES:
            self._refuse(HeadersTooLarge("request header has too long a name"))
        if len(self._headers) + self._again >= self._limits.header_lines:
            self._refuse(HeadersTooLarge("request header has too many lines"))
        return name.lower().decode("latin-1")

    def _count_line(self) -> None:
        self._again += 1
        if len(self._headers) + self._again > self._limits.header_lines:
            self._refuse(HeadersTooLarge("request header has too many lines"))

    def _repeat(self, key: str, text: str) -> None:
        """Keep a further line of a name; all are joined once, in time linear in their length."""
        self._count_line()
        if key == "host":
            self._refuse(BadRequest("malformed HTTP request: more than one Host header"))
        if self._repeated is None:
            self._repeated = {}
        self._repeated.setdefault(key, [self._headers[key]]).append(text)

    def _join_repeated(self, repeated: dict[str, list[str]]) -> None:
        for key, texts in repeated.items():
            self._headers[key] = ("; " if key == "cookie" else ", ").join(texts)

    def on_headers_complete(self) -> None:
        """Finish the head: refuse what can be refused before the body."""
        self.head_done = True
        if self._repeated is not None:
            self._join_repeated(self._repeated)
        headers = self._headers
        version = self._parser.get_http_version()
        if version == "1.1":
            if "host" not in headers:
                self._refuse(BadRequest("missing required Host header"))
        elif version != "1.0":
            self._refuse(VersionNotSupported(f"HTTP version {version} is not supported"))
        if "transfer-encoding" in headers:
            self._check_coding(headers["transfer-encoding"], version)
        if "content-length" in headers:
            self.expected_bytes = int(headers["content-length"])
            if self.expected_bytes > self._limits.body_bytes:
                self._refuse(RequestEntityTooLarge.limit(self._limits.body_bytes))
        if "expect" in headers and version == "1.1":
            if headers["expect"].lower() != "100-continue":
                self._refuse(ExpectationFailed(f"expectation {headers['expect'][:100]!r} cannot be met"))
            self.expects_continue = True
        if len(self._url) > PARAMETERS:
            self._check(check_target(self._url))
        if self._head_bytes:
            self._check(check_headers(headers))

    def _check(self, refusal: StatusError | None) -> None:
        if refusal is not None:
            self._refuse(refusal)

    def _check_coding(self, coding: str, version: str) -> None:
        if version == "1.0":
            self._refuse(BadRequest("malformed HTTP request: Transfer-Encoding in HTTP/1.0"))
        if coding.lower() != "chunked":
            self._refuse(NotImplementedByEdge(f"transfer coding {coding[:100]!r} is not supported"))

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self.expects_continue = False
        self._quiet = 0
        if not self._body:
            self._body = body
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += body
        if len(self._body) > self._limits.body_bytes:
            self._refuse(RequestEntityTooLarge.limit(self._limits.body_bytes))

    def on_message_complete(self) -> None:
        """Add the complete request to `ready`."""
        self.mid = self.expects_continue = False
        parser, headers = self._parser, self._headers
        flags = KEEP_ALIVE if parser.should_keep_alive() else 0
        if parser.get_http_version() == "1.0":
            flags |= HTTP10
        if parser.should_upgrade():
            flags |= UPGRADE
            if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
                # llhttp does not read a body here; what follows would pass for a request.
                self._refuse(BadRequest("an upgrade request must not have a body"))
        elif not flags & KEEP_ALIVE:
            self.closed = True
        size = self._size() if self._fed or len(headers) > _MANY_LINES else 0
        path, query = split_target(self._url.decode("latin-1"))
        request = Request(
            method=parser.get_method().decode("ascii"),
            path=path,
            query=query,
            headers=headers,
            repeated=self._repeated,
            body=self._body if isinstance(self._body, bytes) else bytes(self._body),
            peer=self.peer,
        )
        if request.body and self._repeated is None:
            request.same_head = self._known(headers)
        self._fed = 0
        self._body = b""
        self._headers = _NO_HEADERS
        self._repeated = None
        self.ready.append((request, flags, size))

    def _known(self, headers: dict[str, str]) -> SameHead | None:
        """Return what requests with bodies share while their headers, a body's length included, are equal."""
        known = self._same_sender
        if known is None or known.headers != headers:
            short = sum(map(len, headers.values())) <= SAME_BYTES
            known = self._same_sender = SameHead(headers) if short else None
        return known


# Headers that are taken apart into lists.
_LISTS = frozenset({"accept", "accept-encoding", "content-type"})


def check_headers(headers: Mapping[str, str]) -> StatusError | None:
    """Return the refusal (431) of lists in headers that are too long together, or None."""
    size = sum(len(text) for name, text in headers.items() if name in _LISTS or name.startswith("impersonate-"))
    if size <= FREE_BYTES:
        return None
    return HeadersTooLarge("request header has too long lists of media types, encodings or impersonated groups")


def check_target(target: bytes) -> StatusError | None:
    """Return the refusal (400 or 414) of a request target that is too costly to parse, or None.

    A parameter costs about 2 microseconds, an escaped character 1. llhttp lets only ASCII pass.
    """
    if not target.isascii():
        return BadRequest("malformed HTTP request: Invalid char in url")
    if target.count(b"&") >= PARAMETERS:
        return BadRequest(f"too many query parameters: limit is {PARAMETERS}")
    if target.count(b"%") > ESCAPES:
        return TargetTooLong(f"too many escaped characters in the request target: limit is {ESCAPES}")
    if target.count(b"/") > SLASHES:
        return TargetTooLong(f"too many segments in the request target: limit is {SLASHES}")
    return None


def split_target(target: str) -> tuple[str, str]:
    """Return path and query of a request target, without scheme and authority of an absolute one (RFC 9112 §3.2)."""
    if not target.startswith("/"):
        _, scheme, rest = target.partition("://")
        if scheme:
            slash = rest.find("/")
            target = rest[slash:] if slash >= 0 else "/"
    path, _, query = target.partition("?")
    return path, query
