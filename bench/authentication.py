"""Cost of authentication: of a warm request, and of a connection with a client certificate."""

from __future__ import annotations

import base64
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import orjson
import yaml

from bench.http1 import CONNECT_TIMEOUT_S, BenchError
from bench.machine import Machine
from bench.options import Options
from bench.server import Server, data_directory
from bench.session import Emit

WARM_UP = 20  # connections before those that count
REQUEST = b"GET /readyz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"
READ_BYTES = 65536
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def authentication(options: Options, emit: Emit) -> None:
    """Emit a line for each kind of credentials, by a process of its own (see `bench.warm_requests`)."""
    sizes = ("--roles=20", "--bindings=40", "--rounds=1") if options.quick else ()
    done = subprocess.run([sys.executable, "-m", "bench.warm_requests", *sizes], capture_output=True, check=False)
    if done.returncode:
        raise BenchError(f"bench.warm_requests: {done.stderr.decode()[-2000:]}")
    for line in done.stdout.splitlines():
        emit("authentication", orjson.loads(line))


def handshake(options: Options, emit: Emit) -> None:
    """New connections with one request each: without and with a client certificate, and with a resumed session."""
    with data_directory() as directory:
        server = Server(directory, options.server_flag)
        try:
            pem = directory / "client.pem"
            pem.write_bytes(_own_certificate(directory / "data" / "admin.kubeconfig"))
            for version in VERSIONS:
                for certificate, resumed in ((False, False), (True, False), (True, True)):
                    client = _Client(server, version, pem if certificate else None)
                    emit("handshake", client.measure(options, resumed))
        finally:
            server.stop()


def _own_certificate(kubeconfig: Path) -> bytes:
    """Certificate and key of the administrator, as PEM."""
    user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    return b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key"))


class _Client:
    """Opens connections of one version of TLS, one after the other."""

    def __init__(self, server: Server, version: str, pem: Path | None) -> None:
        self._server = server
        self._version = version
        self._certificate = pem is not None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.minimum_version = self._context.maximum_version = VERSIONS[version]
        if pem is not None:
            self._context.load_cert_chain(pem)

    def measure(self, options: Options, resumed: bool) -> dict[str, object]:
        """Return the figures of so many connections."""
        session: ssl.SSLSession | None = None
        for _ in range(WARM_UP):
            session, _ = self._connect(session if resumed else None)
        machine = Machine((self._server.pid,))
        machine.await_quiet(options.quiet)
        before, reused = machine.snapshot(), 0
        for _ in range(options.handshakes):
            session, again = self._connect(session if resumed else None)
            reused += again
        errors = int(reused != (options.handshakes if resumed else 0))
        return {
            "tls": self._version,
            "certificate": self._certificate,
            "resumed": resumed,
            "connections": options.handshakes,
            "errors": errors,
            **machine.usage(before, options.handshakes),
        }

    def _connect(self, session: ssl.SSLSession | None) -> tuple[ssl.SSLSession | None, bool]:
        """Return one connection, request and answer; the session to go on with, and whether this one was resumed."""
        endpoint = self._server.endpoint
        plain = socket.create_connection((endpoint.host, endpoint.port), CONNECT_TIMEOUT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._context.wrap_socket(plain, session=session) as secure:
            secure.sendall(REQUEST)
            answer = secure.recv(READ_BYTES)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise BenchError(f"GET /readyz: {answer[:100]!r}")
            while secure.recv(READ_BYTES):
                pass
            return secure.session, bool(secure.session_reused)
