"""`kubectl` as a child process: the program on the PATH, with a kubeconfig and a home directory of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from orchtw.testing.kubectl_command import LIMIT_S, environment
from orchtw.testing.kubectl_command import find as find


@cache
def minor_version() -> int:
    """Return the minor version of `kubectl`, such as 20, on which its flags depend; 0 without a program."""
    program = find()
    if program is None:
        return 0
    told = subprocess.run((program, "version", "--client", "-o", "json"), capture_output=True, timeout=LIMIT_S)
    minor: str = json.loads(told.stdout)["clientVersion"]["minor"]
    return int("".join(filter(str.isdigit, minor)))


class Result(msgspec.Struct, frozen=True):
    """Outcome of a command: exit status, standard output, standard error."""

    status: int
    output: str
    errors: str


class Kubectl:
    """Runner of commands against one server. `home` is a folder of its own, created if missing.

    `variables` are additional environment variables, such as KUBE_EDITOR.
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
        """Run a command to its end. Raises TimeoutError, and kills it, if it takes too long."""
        command = self.start(*arguments, stdin=stdin)
        try:
            return await command.result.addTimeout(limit_s, self._reactor)
        except BaseException:
            command.signal("KILL")
            raise

    def start(self, *arguments: str, stdin: str = "") -> Command:
        """Start a command that keeps running, such as `get -w`; read its output by `Command.until`.

        Raises FileNotFoundError without a `kubectl` on the PATH.
        """
        program = find()
        if program is None:
            raise FileNotFoundError("kubectl is not on the PATH")
        command = Command(self._reactor, stdin)
        line = (program, f"--kubeconfig={self._kubeconfig}", *arguments)
        self._reactor.spawnProcess(
            command, program, line, env=environment(self._home, self._variables), path=str(self._home)
        )
        return command


class Command(ProcessProtocol):
    """Running command. `result` fires at its end."""

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
        """Return the standard output so far."""
        return self._output.decode(errors="replace")

    async def until(self, text: str, limit_s: float = LIMIT_S) -> str:
        """Wait until `text` is on standard output or standard error; returns the standard output so far.

        Raises TimeoutError if that takes too long, RuntimeError if the command ends without it.
        """
        if not self._has_said(text):
            waiting: Deferred[str] = Deferred()
            self._awaited.append((text, waiting))
            await waiting.addTimeout(limit_s, self._reactor)
        return self.output

    async def stop(self) -> Result:
        """Interrupt the command like Ctrl-C, and wait for its result."""
        self.signal("INT")
        return await self.result.addTimeout(LIMIT_S, self._reactor)

    def signal(self, name: str) -> None:
        """Send a signal by name unless the command has ended."""
        if not self._ended and self.transport is not None:
            self.transport.signalProcess(name)

    def connectionMade(self) -> None:
        """Write the standard input and close it."""
        assert self.transport is not None
        if self._stdin:
            self.transport.write(self._stdin)
        self.transport.closeStdin()

    def outReceived(self, data: bytes) -> None:
        """Collect standard output and wake the waiters."""
        self._output += data
        self._wake()

    def errReceived(self, data: bytes) -> None:
        """Collect standard error and wake the waiters."""
        self._errors += data
        self._wake()

    def processEnded(self, reason: Failure) -> None:
        """Fire the result, and fail the Deferreds that still wait for output."""
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
