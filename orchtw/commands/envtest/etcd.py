"""Drop-in `etcd`: it answers health checks, and tells API servers where to keep their store (reference CLIENT-17).

It holds no data and speaks no gRPC. It needs the standard library only, and of that little, so that it listens
before envtest asks for the first time.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from orchtw.commands.envtest import store_place
from orchtw.commands.envtest.arguments import BadCommandLine, asks_for_help, asks_for_version, take
from orchtw.commands.envtest.ending import end_with_parent

VERSION: Final = "3.5.0"
"""Version that is shown: the first with `--unsafe-no-fsync`, which newer suites look for in the help."""

_HELP: Final = """\
Usage:

  etcd [flags]

A stand-in for tests: it keeps the data of `kube-apiserver` in the same folder.

      --data-dir 'default.etcd'
        Folder of the data; created if missing.
      --listen-client-urls 'http://localhost:2379'
        URLs to listen on, comma-separated; plain HTTP only.
      --unsafe-no-fsync 'false'
        Answer writes before they are on the disk.
      --advertise-client-urls, --listen-peer-urls, --initial-advertise-peer-urls, --initial-cluster, --name
        Accepted. There is one member, and only API servers connect to it.
      --log-level, --logger, --log-outputs
        Accepted. There is no log.
"""

_ACCEPTED: Final = frozenset({
    "data-dir", "listen-client-urls", "unsafe-no-fsync",
    "advertise-client-urls", "listen-peer-urls", "initial-advertise-peer-urls", "initial-cluster", "name",
    "log-level", "logger", "log-outputs",
})  # fmt: skip

_HEAD_BYTES: Final = 8 * 1024
_TIMEOUT_S: Final = 1.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; returns the exit status: 0, or 1 after a one-line error."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if asks_for_help(given):
        print(_HELP, end="")
        return 0
    if asks_for_version(given):
        print(f"etcd Version: {VERSION}\nImitation: orchtw")
        return 0
    # Before there are threads: a signal that comes from now on waits for `sigwait`.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    end_with_parent()
    try:
        servers = _servers(given)
    except BadCommandLine as problem:
        print(f"etcd: {problem}", file=sys.stderr)
        return 1
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # Suites older than controller-runtime 0.9 wait for this line.
        print(f"serving insecure client requests on {server.shown}", file=sys.stderr, flush=True)
    signal.sigwait(_SIGNALS)
    return 0


def _servers(arguments: Sequence[str]) -> list[Answers]:
    """Return the bound sockets of a command line. Raises BadCommandLine."""
    given, others = take(arguments, _ACCEPTED)
    if others:
        raise BadCommandLine(f"{others[0]}: not a flag of this imitation, see --help")
    folder = Path(given.get("data-dir", "default.etcd")).absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise BadCommandLine(f"--data-dir: {folder}: {problem.strerror}") from None
    place = store_place.StorePlace(str(folder), given.get("unsafe-no-fsync", "false") in ("true", "1"))
    urls = given.get("listen-client-urls", "http://localhost:2379").split(",")
    return [_server(url.strip(), place) for url in urls]


def _server(url: str, place: store_place.StorePlace) -> Answers:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise BadCommandLine(f"--listen-client-urls: {url}: {problem}") from None
    if parts.scheme != "http" or not host:
        raise BadCommandLine(f"--listen-client-urls: {url}: must be a URL such as http://127.0.0.1:2379")
    try:
        return Answers(host, 2379 if port is None else port, place)
    except OSError as problem:
        raise BadCommandLine(f"--listen-client-urls: {url}: {problem.strerror}") from None


class Answers(socketserver.TCPServer):
    """Socket of the imitated etcd; requests are answered one after the other."""

    allow_reuse_address = True

    def __init__(self, host: str, port: int, place: store_place.StorePlace) -> None:
        self._place = place
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        super().__init__((str(address[0]), int(address[1])), _Handler)

    @property
    def shown(self) -> str:
        """Host and port that it listens on."""
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def answer(self, target: str) -> object:
        """Return the JSON value for a path, or None for one that there is not."""
        return {
            "/health": {"health": "true", "reason": ""},
            "/version": {"etcdserver": VERSION, "etcdcluster": VERSION.rpartition(".")[0] + ".0"},
            store_place.PATH: self._place._asdict(),
        }.get(target.partition("?")[0])

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that sends nothing, or leaves."""


class _Handler(socketserver.StreamRequestHandler):
    """One request, and the end of its connection."""

    timeout = _TIMEOUT_S
    server: Answers

    def handle(self) -> None:
        """Answer a request by its path."""
        method, target, *_ = [*self.rfile.readline(_HEAD_BYTES).decode("latin-1").split(), "", ""]
        read = 0
        while (line := self.rfile.readline(_HEAD_BYTES)) not in (b"\r\n", b"\n", b"") and read < _HEAD_BYTES:
            read += len(line)
        value = self.server.answer(target)
        body = b"404 page not found\n" if value is None else json.dumps(value).encode("utf-8")
        status = "404 Not Found" if value is None else "200 OK"
        head = f"HTTP/1.0 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode("ascii") + (b"" if method == "HEAD" else body))


if __name__ == "__main__":
    # Without waiting for the threads, which hold nothing.
    status = main()
    sys.stdout.flush()
    os._exit(status)
