"""API server as a child process, which can be started, stopped, killed and restarted.

```python
class MyOperatorTests(twisted.trial.unittest.TestCase):
    async def test_it(self) -> None:
        server = ServerProcess(reactor, self.mktemp())
        await server.start()
        self.addCleanup(server.terminate)
        ...  # talk to server.address with server.kubeconfig
```
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessTerminated
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

import orchtw
from orchtw.testing.start_failed import StartFailed

LIMIT_S = 60.0
"""Timeout of a start or stop, which takes a few seconds on a busy machine."""

# The `twistd` script in the same interpreter, from a checkout or an installed wheel.
TWISTD = (sys.executable, "-c", "from twisted.scripts.twistd import run; run()")
_ROOT = str(Path(orchtw.__file__).resolve().parent.parent)


class ServerProcess:
    """API server on a data folder, which may be restarted after its end.

    It listens on a free loopback port unless the flags say otherwise. Its log and standard error go to files beside
    the data folder. No reader or timer stays in the reactor while the server runs. `python_path` are folders with
    further packages for the server, such as plugins.
    """

    def __init__(
        self,
        reactor: Any,
        data_dir: str | os.PathLike[str],
        *flags: str,
        limit_s: float = LIMIT_S,
        python_path: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self.data_dir = Path(data_dir).absolute()
        self._reactor = reactor
        self._flags = flags
        self._limit_s = limit_s
        self._python_path = python_path
        self._process: _Process | None = None
        self._address = ""

    @property
    def address(self) -> str:
        """Return the URL of the latest start, such as `https://127.0.0.1:40123`."""
        return self._address

    @property
    def port(self) -> int:
        """Return the port of `address`."""
        return urlsplit(self._address).port or 0

    @property
    def kubeconfig(self) -> Path:
        """Return the path of the administrator's kubeconfig."""
        return self.data_dir / "admin.kubeconfig"

    @property
    def log(self) -> str:
        """Return the log of all starts."""
        return _text(self._beside("log"))

    @property
    def errors(self) -> str:
        """Return the standard error of the latest start."""
        return _text(self._beside("err"))

    @property
    def pid(self) -> int:
        """Return the process id of the latest start; 0 before the first."""
        return self._process.pid if self._process else 0

    @property
    def running(self) -> bool:
        """Report whether the process is running."""
        return self._process is not None and self._process.status is None

    async def start(self) -> None:
        """Start the server and wait until it serves.

        Raises StartFailed if it exits, TimeoutError if it hangs, RuntimeError if it is running already.
        """
        if self.running:
            raise RuntimeError(f"a server on {self.data_dir} runs already")
        self._process = process = _Process()
        with open(self._beside("err"), "wb") as errors:
            environ = environment(self._python_path)
            process.spawn(self._reactor, self._command(), environ, errors.fileno(), str(self.data_dir.parent))
        try:
            line = await process.line.addTimeout(self._limit_s, self._reactor)
        except BaseException:
            process.signal("KILL")
            raise
        if process.status is not None:
            raise StartFailed(process.status, line, self.errors)
        self._address = line.split(" ", 1)[0]

    async def terminate(self) -> int:
        """Shut down gracefully (SIGTERM); returns the exit status. Raises TimeoutError if that takes too long."""
        return await self.end("TERM")

    async def kill9(self) -> int:
        """Kill the server (SIGKILL); returns -9."""
        return await self.end("KILL")

    async def end(self, signal: str) -> int:
        """Send a signal by name and wait for the exit; returns the exit status, or the negated signal number."""
        self.signal(signal)
        return await self.ended()

    def signal(self, name: str) -> None:
        """Send a signal ("TERM", "KILL", "STOP", …), unless the process has exited."""
        if self._process is not None:
            self._process.signal(name)

    async def ended(self) -> int:
        """Wait for the exit; returns the exit status. Raises TimeoutError if it takes longer than the limit."""
        if self._process is None:
            return 0
        return await self._process.ended().addTimeout(self._limit_s, self._reactor)

    def _command(self) -> tuple[str, ...]:
        port = () if any(flag.startswith("--secure-port") for flag in self._flags) else ("--secure-port=0",)
        log = f"--logfile={self._beside('log')}"
        server = ("orch-apiserver", f"--data-dir={self.data_dir}", *port, *self._flags)
        return (*TWISTD, "-n", "--pidfile=", log, *server)

    def _beside(self, suffix: str) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.{suffix}")


def environment(python_path: Sequence[str | os.PathLike[str]] = ()) -> dict[str, str]:
    """Return this process's environment, with a PYTHONPATH for this orchtw, its twistd plugin and `python_path`."""
    folders = [*(str(Path(each)) for each in python_path), _ROOT, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}


class _Process(ProcessProtocol):
    """Protocol that reads the server's start line, closes the pipe, and records the exit status."""

    def __init__(self) -> None:
        self.line: Deferred[str] = Deferred()
        self.status: int | None = None
        self.pid = 0
        self._output = b""
        self._waiting: list[Deferred[int]] = []

    def spawn(
        self, reactor: Any, command: tuple[str, ...], environ: dict[str, str], errors: int, folder: str
    ) -> None:
        """Start the child, with its output in a pipe and its errors in an open file."""
        with open(os.devnull, "rb") as nothing:
            files = {0: nothing.fileno(), 1: "r", 2: errors}
            process = reactor.spawnProcess(self, command[0], command, environ, folder, childFDs=files)
        self.pid = process.pid

    def signal(self, name: str) -> None:
        """Send a signal unless the process has exited."""
        if self.status is None and self.transport is not None and self.transport.pid:
            self.transport.signalProcess(name)

    def ended(self) -> Deferred[int]:
        """Return a Deferred that fires with the exit status."""
        waiting: Deferred[int] = Deferred()
        if self.status is None:
            self._waiting.append(waiting)
        else:
            waiting.callback(self.status)
        return waiting

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Collect the line with the server's address, then close the pipe."""
        self._output += data
        if b"\n" in self._output and self.transport is not None:
            self.transport.closeStdout()

    def childConnectionLost(self, childFD: int) -> None:
        """Fire `line` if it is complete; otherwise the server is exiting, and `processEnded` does."""
        if b"\n" in self._output and not self.line.called:
            self.line.callback(self._output.decode())

    def processEnded(self, reason: Failure) -> None:
        """Record the exit status and fire all waiting Deferreds."""
        end = reason.value
        killed_by = end.signal if isinstance(end, ProcessTerminated) else None
        self.status = -killed_by if killed_by else int(getattr(end, "exitCode", None) or 0)
        if not self.line.called:
            self.line.callback(self._output.decode())
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(self.status)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
