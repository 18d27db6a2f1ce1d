"""External commands whose output the server needs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready, ProcessTerminated
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

TIME_S: Final = 60.0
"""Time limit of a command; requests wait for it."""

OUTPUT_BYTES: Final = 1 << 20
"""Limit of standard output: certificates with long chains have some ten KiB."""

_ERRORS_BYTES: Final = 16 * 1024
"""Limit of standard error, for the log."""


@attrs.frozen(slots=True, kw_only=True)
class Command:
    """A command: name (looked up in PATH unless it is a path), arguments, and additional environment."""

    name: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    hint: str = ""


class CommandFailed(Exception):
    """Error of a command without usable output; the text gives the reason."""


async def run(reactor: Any, command: Command, *, time_s: float = TIME_S) -> bytes:
    """Run a command without terminal and input, and return its output; its standard error is logged.

    Raises CommandFailed. Cancellation kills the command, and so does the end of the server.
    """
    environment = {**os.environ, **command.env}
    found = shutil.which(command.name, path=environment.get("PATH", os.defpath))
    if found is None:
        hint = f": {command.hint}" if command.hint else ""
        raise CommandFailed(f"exec: executable {command.name} not found{hint}")
    process = _Process(command.name)
    try:
        reactor.spawnProcess(process, found, [found, *command.args], env=environment)
    except (OSError, ValueError, TypeError) as problem:
        raise CommandFailed(f"exec: executable {command.name} cannot be run: {problem}") from None

    at_the_end = reactor.addSystemEventTrigger("before", "shutdown", process.kill)

    def late(_result: object, _time_s: float) -> Any:
        problem = CommandFailed(f"exec: executable {command.name} has not ended in {time_s:g} s")
        return Failure(problem)  # type: ignore[no-untyped-call]

    try:
        return await process.output.addTimeout(time_s, reactor, onTimeoutCancel=late)
    finally:
        reactor.removeSystemEventTrigger(at_the_end)


class _Process(ProcessProtocol):
    """Collector of a command's output; cancelling `output` kills the command."""

    transport: Any

    _log = Logger()

    def __init__(self, name: str) -> None:
        self.output: Deferred[bytes] = Deferred(lambda _: self.kill())
        self._name = name
        self._printed = bytearray()
        self._errors = bytearray()

    def connectionMade(self) -> None:
        """Close standard input: the command has started."""
        self.transport.closeStdin()

    def outReceived(self, data: bytes) -> None:
        """Collect a part of standard output."""
        self._printed += data
        if len(self._printed) > OUTPUT_BYTES and not self.output.called:
            self._printed.clear()
            self.kill()
            self.output.errback(
                CommandFailed(f"exec: executable {self._name} has printed more than {OUTPUT_BYTES} bytes")
            )

    def errReceived(self, data: bytes) -> None:
        """Collect standard error for the log."""
        self._errors += data[: _ERRORS_BYTES - len(self._errors)]

    def processEnded(self, reason: Failure) -> None:
        """Report the end of the command."""
        if self._errors:
            text = self._errors.decode("utf-8", "replace").strip()
            self._log.info("{name}: {text}", name=self._name, text=text)
        if self.output.called:
            return
        ended = reason.value
        if not isinstance(ended, ProcessTerminated):
            self.output.callback(bytes(self._printed))
        elif ended.exitCode is not None:
            self.output.errback(
                CommandFailed(f"exec: executable {self._name} failed with exit code {ended.exitCode}")
            )
        else:
            self.output.errback(CommandFailed(f"exec: executable {self._name} was ended by signal {ended.signal}"))

    def kill(self) -> None:
        """Kill the command, without waiting for its children."""
        try:
            self.transport.signalProcess("KILL")
        except ProcessExitedAlready:
            pass
        self.transport.loseConnection()
