"""An HTTPS client for the tests: the standard library's, in threads, with a kubeconfig's certificate."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

import attrs
import yaml
from twisted.internet.threads import deferToThread

# A test's own sockets never wait longer than that; it is reached only when the test fails.
PATIENCE_S = 100.0
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"


def tls_context(kubeconfig: Path, *, certificate: bool = True) -> ssl.SSLContext:
    """The TLS settings of a kubeconfig that holds certificates and key inside, with or without the client's own."""
    document = yaml.load(kubeconfig.read_bytes(), yaml.CSafeLoader)
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    context = ssl.create_default_context(
        cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
    )
    if not certificate:
        return context
    with tempfile.NamedTemporaryFile(suffix=".pem") as pem:
        pem.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pem.flush()
        context.load_cert_chain(pem.name)
    return context


@attrs.frozen(slots=True)
class Answer:
    """A complete response. Header names are in lower case, the values of one name joined by ", "."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def version(self) -> str:
        """The object's (or list's) resourceVersion."""
        version: str = self.json["metadata"]["resourceVersion"]
        return version

    def __str__(self) -> str:
        return f"{self.code} {self.body[:2000].decode(errors='replace')}"


class Client:
    """Keeps its connections; as many as there are requests at a time."""

    def __init__(self, port: int, context: ssl.SSLContext, headers: Mapping[str, str] | None = None) -> None:
        self._port = port
        self._context = context
        self._headers = dict(headers or {})
        self._idle: list[HTTPSConnection] = []
        self._open: set[HTTPSConnection] = set()

    async def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request. A dict or list as `body` goes as JSON; other bodies are bytes and need their own type."""
        return await deferToThread(self.exchange, method, path, body, headers)

    async def get(self, path: str, accept: str = "") -> Answer:
        """GET with an Accept header."""
        return await self.send("GET", path, None, {"Accept": accept} if accept else None)

    async def post(self, path: str, body: Any) -> Answer:
        """POST of a JSON object."""
        return await self.send("POST", path, body)

    async def put(self, path: str, body: Any) -> Answer:
        """PUT of a JSON object."""
        return await self.send("PUT", path, body)

    async def merge(self, path: str, body: Any) -> Answer:
        """PATCH with a JSON merge patch."""
        return await self.send("PATCH", path, body, {"Content-Type": MERGE_PATCH})

    async def delete(self, path: str, body: Any = None) -> Answer:
        """DELETE, with options if there are any."""
        return await self.send("DELETE", path, body)

    async def watch(self, path: str, accept: str = JSON) -> Watch:
        """Open a watch; `path` has the query in it."""
        return await deferToThread(self._watch, path, accept)

    def exchange(self, method: str, path: str, body: Any, headers: Mapping[str, str] | None) -> Answer:
        """The same as `send`, for a thread of the caller's own."""
        connection = self.connection()
        try:
            response = self._request(connection, method, path, body, headers)
            data = response.read()
        except BaseException:
            self._drop(connection)
            raise
        answer = Answer(response.status, _headers(response), data)
        if response.will_close:
            self._drop(connection)
        else:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close all connections, those of watches too."""
        for connection in list(self._open):
            self._drop(connection)
        self._idle.clear()

    def _watch(self, path: str, accept: str) -> Watch:
        connection = self.connection()
        response = self._request(connection, "GET", path, None, {"Accept": accept})
        return Watch(response)

    def _request(
        self, connection: HTTPSConnection, method: str, path: str, body: Any, headers: Mapping[str, str] | None
    ) -> HTTPResponse:
        sent = {**self._headers, **(headers or {})}
        if isinstance(body, dict | list):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", JSON)
        connection.request(method, path, body, sent)
        return connection.getresponse()

    def connection(self) -> HTTPSConnection:
        """An idle connection, or a new one; closed with the client."""
        if self._idle:
            return self._idle.pop()
        connection = HTTPSConnection("127.0.0.1", self._port, timeout=PATIENCE_S, context=self._context)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open.add(connection)
        return connection

    def _drop(self, connection: HTTPSConnection) -> None:
        self._open.discard(connection)
        connection.close()


def _headers(response: HTTPResponse) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


class Watch:
    """An open watch in JSON lines or Protobuf frames."""

    def __init__(self, response: HTTPResponse) -> None:
        self.code = response.status
        self.headers = _headers(response)
        self._response = response

    async def event(self) -> dict[str, Any]:
        """The next event of a JSON watch; EOFError at the end."""
        line = await deferToThread(self._response.readline)
        if not line:
            raise EOFError
        event: dict[str, Any] = json.loads(line)
        return event

    async def events(self, count: int) -> list[dict[str, Any]]:
        """Wait for so many events."""
        return [await self.event() for _ in range(count)]

    async def types(self, count: int) -> list[tuple[str, str]]:
        """Type and object's name of that many events."""
        return [(event["type"], event["object"]["metadata"]["name"]) for event in await self.events(count)]

    async def frame(self) -> bytes:
        """The next length-delimited frame of a Protobuf watch."""
        return await deferToThread(self._frame)

    async def rest(self) -> list[dict[str, Any]]:
        """All events until the server ends the stream."""
        body = await deferToThread(self._response.read)
        return [json.loads(line) for line in body.splitlines()]

    def _frame(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece = self._response.read(length - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data


def raw_exchange(port: int, context: ssl.SSLContext, data: bytes) -> bytes:
    """Send bytes as they are over TLS and read until the server closes; blocking."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        return _exchange(connection, data)


def plain_exchange(port: int, data: bytes) -> bytes:
    """The same without TLS; nothing more will be sent, and the server knows."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        return _exchange(connection, data, end=True)


def _exchange(connection: socket.socket, data: bytes, *, end: bool = False) -> bytes:
    received = b""
    try:
        connection.sendall(data)
        if end:
            with suppress(OSError):  # the server may have reset it by now; its answer can be read all the same
                connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65536):
            received += piece
    except (ConnectionError, ssl.SSLEOFError):
        pass
    return received
