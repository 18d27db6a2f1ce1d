"""This checkout's server as a process of its own, in a data directory that is thrown away."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.http1 import BenchError, Connection, Endpoint

ROOT = Path(__file__).resolve().parent.parent
TWISTD = (sys.executable, "-c", "from twisted.scripts.twistd import run; run()")
TOKEN = "bench-token"
GREEDY_TOKEN = "bench-greedy"
MODEST_TOKEN = "bench-modest"
USERS = "bench-users"
TOKENS = (
    f'{TOKEN},bench,bench,"system:masters"\n'
    f'{GREEDY_TOKEN},greedy,greedy,"{USERS}"\n'
    f'{MODEST_TOKEN},modest,modest,"{USERS}"\n'
)
"""The administrator's, and those of two users whose requests are limited."""
START_LIMIT_S = 30.0
STOP_LIMIT_S = 15.0
POLL_S = 0.002
LOG_TAIL = 2000


@contextmanager
def data_directory() -> Iterator[Path]:
    """Make an empty directory, removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class Server:
    """One run of the server; `ready_s` is the time from exec to the first 200 of `/readyz`."""

    def __init__(self, directory: Path, flags: Sequence[str], limit_s: float = START_LIMIT_S) -> None:
        self._directory = directory
        tokens = directory / "tokens.csv"
        tokens.write_text(TOKENS)
        self._log = directory / "server.log"
        command = (
            *TWISTD, "-n", "--pidfile=", f"--logfile={self._log}", "orch-apiserver", "--secure-port=0",
            f"--data-dir={directory / 'data'}", f"--token-auth-file={tokens}", *flags,
        )  # fmt: skip
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.pid = self._process.pid
        try:
            self.endpoint = Endpoint.parse(self._address(began + limit_s), TOKEN)
            self._await_ready(began + limit_s)
        except BaseException:
            self.stop()
            raise
        self.ready_s = time.monotonic() - began

    @property
    def pids(self) -> tuple[int, ...]:
        """The process and those that it has started, such as its workers."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return (self.pid, *map(int, children))

    def stop(self) -> None:
        """End it: SIGTERM first, and SIGKILL when that does not do."""
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _address(self, end: float) -> str:
        """Return the first word that the server prints."""
        out = self._process.stdout
        assert out is not None
        line = out.readline() if select.select([out], [], [], end - time.monotonic())[0] else b""
        if not line.startswith(b"https://"):
            raise BenchError(f"the server did not start: {line.decode()}{self._log_tail()}")
        return line.split()[0].decode()

    def _await_ready(self, end: float) -> None:
        while time.monotonic() < end:
            with suppress(OSError):  # a server that is busy with its store may be late for the handshake
                connection = Connection(self.endpoint)
                try:
                    if connection.call(self.endpoint.request("GET", "/readyz", "*/*")).status == 200:
                        return
                finally:
                    connection.close()
            time.sleep(POLL_S)
        raise BenchError(f"the server is not ready in time{self._log_tail()}")

    def _log_tail(self) -> str:
        return "\n" + self._log.read_text(errors="replace")[-LOG_TAIL:] if self._log.exists() else ""


@contextmanager
def running(flags: Sequence[str]) -> Iterator[Server]:
    """Run a fresh server on an empty store."""
    with data_directory() as directory:
        server = Server(directory, flags)
        try:
            yield server
        finally:
            server.stop()
