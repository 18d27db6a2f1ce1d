"""HTTP/1.x requests out of bytes: llhttp's parsing, our limits and refusals. No I/O."""

from __future__ import annotations

import re
from typing import Any

import httptools

from orchtw.errors import BadRequest, MethodNotAllowed, RequestEntityTooLarge, StatusError
from orchtw.request import Peer, Request
from orchtw.serving.limits import (
    EdgeLimits,
    ExpectationFailed,
    HeadersTooLarge,
    NotImplementedByEdge,
    VersionNotSupported,
)

# What is known about a complete request beside the request itself.
KEEP_ALIVE, HTTP10, UPGRADE = 1, 2, 4

# Chunk sizes, extensions and trailers may make a body on the wire this much larger than its content.
_CHUNK_OVERHEAD = 8

_METHOD = re.compile(rb"[A-Z]+( |$)")

# Header names as they came to the shared lower-case text: saves the conversion and, for a watch that keeps its
# request, the memory. Clients cannot fill it beyond the bound.
_NAMES: dict[bytes, str] = {}
_MAX_NAMES = 512

_UNKNOWN_PEER = Peer(address="", port=0)


class _RefusedError(Exception):
    """Ends llhttp's run; the reason is in `refusal`."""


class RequestParser:
    """Collects complete requests in `ready`, each with its flags, in the order they came.

    `mid` tells that a request has begun and is not complete; `expects_continue` that its client waits for
    a 100 before it sends the body. After a `refusal` nothing more is read: it is to be answered after
    everything in `ready`, and the connection closed.
    """

    __slots__ = (
        "_body",
        "_body_bytes",
        "_fed",
        "_headers",
        "_in_body",
        "_limits",
        "_parser",
        "_url",
        "closed",
        "expects_continue",
        "mid",
        "peer",
        "ready",
        "refusal",
    )

    def __init__(self, limits: EdgeLimits) -> None:
        self._limits = limits
        self._parser: Any = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._body_bytes = self._fed = 0
        self._in_body = self.mid = self.expects_continue = self.closed = False
        self.peer = _UNKNOWN_PEER
        self.ready: list[tuple[Request, int]] = []
        self.refusal: StatusError | None = None

    def feed(self, data: bytes) -> bytes:
        """Parse `data`. Returns what follows an upgrade request: another protocol's bytes, perhaps."""
        rest = b""
        if self.refusal is not None or self.closed:
            return rest
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as problem:
            self._malformed(problem, data)
        if self.mid:
            self._measure(len(data))
        return rest

    def close(self) -> None:
        """Drop the parser, which refers back to this object."""
        self.closed = True
        self._parser = None

    def sleep(self) -> None:
        """Free the parser between two requests, while a stream runs: idle watches are many."""
        if not self.mid:
            self._parser = None

    def _malformed(self, problem: Exception, data: bytes) -> None:
        """A word in capitals that is no method is 405 (supplement C3), anything else 400."""
        if self.refusal is None and not self.closed:
            unknown = isinstance(problem, httptools.HttpParserInvalidMethodError) and _METHOD.match(data)
            self.refusal = MethodNotAllowed() if unknown else BadRequest(f"malformed HTTP request: {problem}")

    def _measure(self, size: int) -> None:
        # llhttp gathers a header across feeds before it calls back, so bytes are counted here as well.
        self._fed += size
        if not self._in_body:
            if self._fed > self._limits.head_bytes:
                self.refusal = self.refusal or HeadersTooLarge("request header is too large")
        elif self._fed > self._limits.head_bytes + _CHUNK_OVERHEAD * self._limits.body_bytes:
            self.refusal = self.refusal or RequestEntityTooLarge.limit(self._limits.body_bytes)

    def _refuse(self, refusal: StatusError) -> None:
        self.refusal = refusal
        raise _RefusedError

    # llhttp's callbacks

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self.mid = True
        self._in_body = self.expects_continue = False
        self._fed = self._body_bytes = 0
        self._url = b""
        self._headers = {}

    def on_url(self, url: bytes) -> None:
        """A part of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header line; trailers after a chunked body are dropped."""
        if self._in_body:
            return
        key = _NAMES.get(name) or _header_name(name)
        text = value.decode("latin-1").strip(" \t")
        headers = self._headers
        if key in headers:
            if key == "host":
                self._refuse(BadRequest("malformed HTTP request: more than one Host header"))
            headers[key] += ("; " if key == "cookie" else ", ") + text
        else:
            headers[key] = text

    def on_headers_complete(self) -> None:
        """The head is there: refuse what can be refused before the body comes."""
        self._in_body = True
        headers = self._headers
        version = self._parser.get_http_version()
        if version == "1.1":
            if "host" not in headers:
                self._refuse(BadRequest("missing required Host header"))
        elif version != "1.0":
            self._refuse(VersionNotSupported(f"HTTP version {version} is not supported"))
        if "transfer-encoding" in headers:
            self._check_coding(headers["transfer-encoding"], version)
        if "content-length" in headers and int(headers["content-length"]) > self._limits.body_bytes:
            self._refuse(RequestEntityTooLarge.limit(self._limits.body_bytes))
        if "expect" in headers and version == "1.1":
            if headers["expect"].lower() != "100-continue":
                self._refuse(ExpectationFailed(f"expectation {headers['expect']!r} cannot be met"))
            self.expects_continue = True

    def _check_coding(self, coding: str, version: str) -> None:
        if version == "1.0":
            self._refuse(BadRequest("malformed HTTP request: Transfer-Encoding in HTTP/1.0"))
        if coding.lower() != "chunked":
            self._refuse(NotImplementedByEdge(f"transfer coding {coding!r} is not supported"))

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self.expects_continue = False
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.body_bytes:
            self._refuse(RequestEntityTooLarge.limit(self._limits.body_bytes))
        self._body.append(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
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
        body = b""
        if self._body:
            body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            self._body = []
        path, query = split_target(self._url.decode("latin-1"))
        request = Request(
            method=parser.get_method().decode("ascii"),
            path=path,
            query=query,
            headers=headers,
            body=body,
            peer=self.peer,
        )
        self._headers = {}
        self.ready.append((request, flags))


def _header_name(name: bytes) -> str:
    key = name.lower().decode("latin-1")
    if len(_NAMES) < _MAX_NAMES:
        _NAMES[name] = key
    return key


def split_target(target: str) -> tuple[str, str]:
    """Path and query of a request target; scheme and authority of an absolute one are dropped (RFC 9112 §3.2)."""
    if not target.startswith("/"):
        _, scheme, rest = target.partition("://")
        if scheme:
            slash = rest.find("/")
            target = rest[slash:] if slash >= 0 else "/"
    path, _, query = target.partition("?")
    return path, query
