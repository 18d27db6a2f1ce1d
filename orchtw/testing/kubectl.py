"""`kubectl` as a user runs it: the program on the PATH, one kubeconfig, and a home of its own for its caches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

LIMIT_S = 60.0
"""How long a command may take."""


def find() -> str | None:
    """Where `kubectl` is, or None where it is not on the PATH: skip the test then."""
    return shutil.which("kubectl")


@cache
def minor_version() -> int:
    """The 20 of a `kubectl` 1.20, whose flags are fewer than those of later ones; 0 where there is none."""
    program = find()
    if program is None:
        return 0
    told = subprocess.run((program, "version", "--client", "-o", "json"), capture_output=True, timeout=LIMIT_S)
    minor: str = json.loads(told.stdout)["clientVersion"]["minor"]
    return int("".join(filter(str.isdigit, minor)))


@attrs.frozen(slots=True)
class Result:
    """The outcome of a command: exit status, standard output, standard error."""

    status: int
    output: str
    errors: str


class Kubectl:
    """Runs commands against one server. `home` is a folder that belongs to this object; it is made when missing.

    `variables` are more environment variables, such as KUBE_EDITOR.
    """

    def __init__(
        self,
        reactor: Any,
        kubeconfig: str | os.PathLike[str],
        home: str | os.PathLike[str],
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._reactor = reactor
        self._kubeconfig = Path(kubeconfig).absolute()
        self._home = Path(home).absolute()
        self._home.mkdir(parents=True, exist_ok=True)
        self._variables = dict(variables or {})

    async def run(self, *arguments: str, stdin: str = "", limit_s: float = LIMIT_S) -> Result:
        """Run a command to its end. Raises TimeoutError when it takes too long."""
        command = self.start(*arguments, stdin=stdin)
        try:
            return await command.result.addTimeout(limit_s, self._reactor)
        except BaseException:
            command.signal("KILL")
            raise

    def start(self, *arguments: str, stdin: str = "") -> Command:
        """Start a command that goes on, such as `get -w`; read it with `Command.until`."""
        program = find()
        if program is None:
            raise FileNotFoundError("kubectl is not on the PATH")
        command = Command(self._reactor, stdin)
        line = (program, f"--kubeconfig={self._kubeconfig}", *arguments)
        self._reactor.spawnProcess(command, program, line, env=self._environment(), path=str(self._home))
        return command

    def _environment(self) -> dict[str, str]:
        """Nothing of the user's own settings: no KUBECONFIG, no proxies, no cache from elsewhere.

        A command ends before collecting garbage would pay: letting it grow saves a quarter of the command's CPU.
        """
        own = {"HOME": str(self._home), "PATH": os.environ.get("PATH", ""), "TZ": "UTC", "GOGC": "400"}
        return {**own, **self._variables}


class Command(ProcessProtocol):
    """A running command. `result` fires at its end."""

    def __init__(self, reactor: Any, stdin: str) -> None:
        self.result: Deferred[Result] = Deferred()
        self._reactor = reactor
        self._stdin = stdin.encode()
        self._output = b""
        self._errors = b""
        self._ended = False
        self._awaited: list[tuple[str, Deferred[str]]] = []

    @property
    def output(self) -> str:
        """The standard output so far."""
        return self._output.decode(errors="replace")

    async def until(self, text: str, limit_s: float = LIMIT_S) -> str:
        """Wait until `text` stands on standard output or standard error; returns the output so far.

        Raises TimeoutError when that takes too long, RuntimeError when the command ends without it.
        """
        if not self._has_said(text):
            waiting: Deferred[str] = Deferred()
            self._awaited.append((text, waiting))
            await waiting.addTimeout(limit_s, self._reactor)
        return self.output

    async def stop(self) -> Result:
        """End the command as Ctrl-C does."""
        self.signal("INT")
        return await self.result.addTimeout(LIMIT_S, self._reactor)

    def signal(self, name: str) -> None:
        """Send a signal by name unless the command has ended."""
        if not self._ended and self.transport is not None:
            self.transport.signalProcess(name)

    def connectionMade(self) -> None:
        """Hand over the input."""
        assert self.transport is not None
        if self._stdin:
            self.transport.write(self._stdin)
        self.transport.closeStdin()

    def outReceived(self, data: bytes) -> None:
        """Collect output; wake who waits for it."""
        self._output += data
        self._wake()

    def errReceived(self, data: bytes) -> None:
        """Collect errors; wake who waits for them."""
        self._errors += data
        self._wake()

    def processEnded(self, reason: Failure) -> None:
        """Set the result, and fail the Deferreds that still wait for output."""
        self._ended = True
        status, errors = getattr(reason.value, "exitCode", None), self._errors.decode(errors="replace")
        if not self.result.called:
            self.result.callback(Result(-1 if status is None else status, self.output, errors))
        for text, waiting in self._awaited:
            waiting.errback(RuntimeError(f"ended without {text!r}: {self.output}{errors}"))
        self._awaited = []

    def _has_said(self, text: str) -> bool:
        return text.encode() in self._output or text.encode() in self._errors

    def _wake(self) -> None:
        due = [waiting for text, waiting in self._awaited if self._has_said(text)]
        self._awaited = [each for each in self._awaited if not self._has_said(each[0])]
        for waiting in due:
            waiting.callback(self.output)
