"""A thin HTTP/1.1 client: one TLS connection, non-blocking, fed to httptools."""

from __future__ import annotations

import gzip
import select
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit

import httptools

JSON = "application/json"
CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 60.0
GOOD = (200, 201)
RECORD_BYTES = 16384  # of plaintext in one TLS record: what a read returns at most


class BenchError(Exception):
    """The measurement cannot go on."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server on this machine, and its clients; `streams` watches share an HTTP/2 connection (0: HTTP/1.1)."""

    host: str
    port: int
    token: str
    streams: int = 0

    @classmethod
    def parse(cls, url: str, token: str) -> Endpoint:
        """Return the endpoint behind an https URL; BenchError unless it is loopback."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme != "https" or not is_loopback(host):
            raise BenchError(f"{url}: only https on a loopback address is loaded")
        return cls(host, parts.port or 443, token)

    def request(
        self,
        method: str,
        path: str,
        accept: str = JSON,
        content_type: str = "",
        body: bytes = b"",
        zipped: bool = False,
    ) -> bytes:
        """Return a whole request; `zipped` asks for a compressed answer."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nUser-Agent: bench\r\n"
            f"Authorization: Bearer {self.token}\r\nAccept: {accept}\r\n"
        )
        if zipped:
            head += "Accept-Encoding: gzip\r\n"
        if content_type:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body

    def socket(self, protocol: str = "http/1.1") -> ssl.SSLSocket:
        """Return a connection after its handshake, non-blocking from now on."""
        plain = socket.create_connection((self.host, self.port), CONNECT_TIMEOUT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = _context(protocol).wrap_socket(plain)
        secure.setblocking(False)
        return secure


def is_loopback(host: str) -> bool:
    """Report whether `host` is this machine, by name or address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def _context(protocol: str) -> ssl.SSLContext:
    """Return a context that trusts any server: only loopback is ever asked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


@dataclass(slots=True)
class Answer:
    """A response; `body` is as received, compressed or not."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def content(self) -> bytes:
        """The body without its content coding."""
        return gzip.decompress(self.body) if self.headers.get(b"content-encoding") == b"gzip" else self.body

    @property
    def media_type(self) -> str:
        return self.headers.get(b"content-type", b"").split(b";")[0].decode()

    def problem(self, accept: str) -> str:
        """Return the fault of this answer, in words; empty if it is an object of the type asked for."""
        if self.status not in GOOD:
            return f"status {self.status}: {self.content[:300]!r}"
        if self.media_type != accept.split(";")[0]:
            return f"content type {self.media_type!r}, asked for {accept!r}"
        return ""


class Connection:
    """One kept-alive connection, one request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._socket = endpoint.socket()
        self._parser = httptools.HttpResponseParser(self)
        self._answer = Answer()
        self._complete = False

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def port(self) -> int:
        """Port of this end."""
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        self._socket.close()

    def send(self, request: bytes) -> None:
        """Send a request of at most one TLS record, which goes out whole or not at all."""
        while True:
            try:
                self._socket.sendall(request)
                return
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def receive(self) -> Answer | None:
        """Read what is there: the answer if it is complete by now. Raises ConnectionError at the end."""
        read = self._socket.recv
        try:
            while not self._complete:
                data = read(RECORD_BYTES)
                if not data:
                    raise ConnectionError("the server closed the connection")
                self._parser.feed_data(data)
        except ssl.SSLWantReadError:
            return None
        answer, self._answer, self._complete = self._answer, Answer(), False
        return answer

    def call(self, request: bytes) -> Answer:
        """Send a request and wait for its answer; BenchError when nothing comes for a minute."""
        self.send(request)
        while True:
            answer = self.receive()
            if answer is not None:
                return answer
            self.wait_readable()

    @property
    def pieces(self) -> Sequence[bytes]:
        """Return the received part of an incomplete body."""
        return self._answer.pieces

    def wait_readable(self) -> None:
        """Wait until there is something to `receive`; BenchError when nothing comes for a minute."""
        self._wait(select.POLLIN)

    def _wait(self, events: int) -> None:
        poll = select.poll()
        poll.register(self._socket, events)
        if not poll.poll(ANSWER_TIMEOUT_S * 1000):
            raise BenchError(f"nothing moved on a connection for {ANSWER_TIMEOUT_S:.0f} s")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._answer.headers[name.lower()] = value

    def on_body(self, data: bytes) -> None:
        self._answer.pieces.append(data)

    def on_message_complete(self) -> None:
        self._answer.status = self._parser.get_status_code()
        self._complete = True
