"""The imitated etcd, and what API servers ask it (reference CLIENT-17)."""
# covers: orchtw.commands.envtest.store_place

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.envtest import etcd, store_place
from orchtw.commands.envtest.arguments import BadCommandLine
from orchtw.commands.envtest.etcd import Answers
from orchtw.commands.envtest.store_place import NoEtcd, StorePlace, ask

PLACE = StorePlace("/data", True)


def serve(case: SynchronousTestCase, host: str = "127.0.0.1", answers: type[Answers] = Answers) -> int:
    """Let an etcd answer until the end of the test; returns its port."""
    server = answers(host, 0, PLACE)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    case.addCleanup(server.server_close)
    case.addCleanup(server.shutdown)
    return int(server.server_address[1])


def exchange(port: int, request: bytes) -> bytes:
    """Return all that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


class AnswersTests(SynchronousTestCase):
    def get(self, port: int, target: str, method: str = "GET") -> tuple[bytes, bytes]:
        """Return the status line and the body."""
        got = exchange(port, f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n".encode())
        head, _, body = got.partition(b"\r\n\r\n")
        return head.partition(b"\r\n")[0], body

    def test_answers(self) -> None:
        """Health, version and the place of the store; nothing else."""
        port = serve(self)
        for target, expected in (
            ("/health", {"health": "true", "reason": ""}),
            ("/health?serializable=true", {"health": "true", "reason": ""}),
            ("/version", {"etcdserver": etcd.VERSION, "etcdcluster": "3.5.0"}),
            (store_place.PATH, {"folder": "/data", "unsafe_no_fsync": True}),
        ):
            status, body = self.get(port, target)
            self.assertEqual((status, json.loads(body)), (b"HTTP/1.0 200 OK", expected))
        self.assertEqual(self.get(port, "/v3/kv/range")[0], b"HTTP/1.0 404 Not Found")
        self.assertEqual(self.get(port, "/health", "HEAD"), (b"HTTP/1.0 200 OK", b""))

    def test_bad_clients(self) -> None:
        """Clients that send nonsense, too much or nothing keep nobody else waiting for long."""
        port = serve(self)
        headers = b"GET / X\r\n" + b"a: b\r\n" * 9000
        for request in (b"", b"\r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET", b"G" * 100_000, headers):
            with contextlib.suppress(OSError):  # it has not read all of it
                exchange(port, request)
        with socket.create_connection(("127.0.0.1", port)):
            self.assertEqual(self.get(port, "/health")[0], b"HTTP/1.0 200 OK")

    def test_ipv6(self) -> None:
        """It listens on addresses of either family, and shows them as in a URL."""
        server = Answers("::1", 0, PLACE)
        self.addCleanup(server.server_close)
        self.assertEqual(server.shown, f"[::1]:{server.server_address[1]}")


class AskTests(SynchronousTestCase):
    """The API server's side."""

    def test_imitation(self) -> None:
        """The imitation tells the place."""
        self.assertEqual(ask(f"http://127.0.0.1:{serve(self)}"), PLACE)

    def test_real_etcd(self) -> None:
        """Anything else that answers is used as an etcd, and so is one with TLS."""

        class Other(Answers):
            reply: object = None

            def answer(self, target: str) -> object:
                return self.reply

        port = serve(self, answers=Other)
        replies: tuple[object, ...] = (None, {"health": "true"}, [], "x", {"folder": 1, "unsafe_no_fsync": True})
        for reply in replies:
            Other.reply = reply
            self.assertIsNone(ask(f"http://127.0.0.1:{port}"))
        self.assertIsNone(ask("https://127.0.0.1:1"))

    def test_nothing(self) -> None:
        """Where nothing listens for so long, the error names the URL."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            error = self.assertRaises(NoEtcd, ask, url, 0.0)
        self.assertEqual(str(error), f"{url}: Connection refused")


class CommandTests(SynchronousTestCase):
    """The command line of the imitation."""

    def test_refused(self) -> None:
        """Flags that it cannot honour end it with one line."""
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = f"http://127.0.0.1:{taken.getsockname()[1]}"
        folder = Path(self.mktemp()).absolute()
        folder.write_text("")
        for flags, why in (
            (["--quota-backend-bytes=1"], "--quota-backend-bytes=1: not a flag of this imitation, see --help"),
            (["--cert-file", "x"], "--cert-file: not a flag of this imitation, see --help"),
            ([f"--data-dir={folder}"], f"--data-dir: {folder}: File exists"),
            (["--listen-client-urls=https://127.0.0.1:1"],
             "--listen-client-urls: https://127.0.0.1:1: must be a URL such as http://127.0.0.1:2379"),
            (["--listen-client-urls=http://127.0.0.1:x"],
             "--listen-client-urls: http://127.0.0.1:x: Port could not be cast to integer value as 'x'"),
            ([f"--listen-client-urls={busy}"], f"--listen-client-urls: {busy}: Address already in use"),
        ):  # fmt: skip
            data = [] if "--data-dir" in flags[0] else [f"--data-dir={self.mktemp()}"]
            self.assertEqual(str(self.assertRaises(BadCommandLine, etcd._servers, [*flags, *data])), why)

    def test_exit_status(self) -> None:
        """A refusal is exit status 1, with the program's name."""
        command = [sys.executable, "-m", "orchtw.commands.envtest.etcd", "--nonsense"]
        told = subprocess.run(command, capture_output=True, text=True)
        text = "etcd: --nonsense: not a flag of this imitation, see --help\n"
        self.assertEqual((told.returncode, told.stdout, told.stderr), (1, "", text))

    def test_version(self) -> None:
        """The version is that of a release whose flags it takes."""
        with contextlib.redirect_stdout(StringIO()) as out:
            self.assertEqual(etcd.main(["--version"]), 0)
        self.assertEqual(out.getvalue(), "etcd Version: 3.5.0\nImitation: orchtw\n")
