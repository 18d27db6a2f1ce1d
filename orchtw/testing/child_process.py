"""The server as a child process of any program: no reactor, no signal handlers, no orphans."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import orchtw
from orchtw.testing.lifeline import Lifeline
from orchtw.testing.start_failed import StartFailed

START_S = 60.0
"""Timeout of a start, which takes a second, and several on a busy machine."""

STOP_S = 10.0
"""Timeout of a shutdown in good order, after which the server is killed."""

_CHUNK = 4096
_ROOT = str(Path(orchtw.__file__).resolve().parent.parent)


class ChildProcess:
    """Server that ends with this process; `errors` is the file of its log and standard error.

    With `remove`, the server removes the folder if it outlives this process for a moment.

    A process that is forked from this one does not own it, and leaves it alone.
    """

    def __init__(self, flags: Sequence[str], folder: Path, errors: Path, *, remove: bool) -> None:
        self._errors = errors
        self._owner = os.getpid()
        self._lifeline = Lifeline()
        removed = str(folder) if remove else ""
        command = (sys.executable, "-m", "orchtw.testing.child_main", str(self._owner), removed, *flags)
        try:
            with errors.open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=self._lifeline.child_end,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=folder,
                    env=environment(),
                    start_new_session=True,  # Ctrl-C in the terminal is for the tests
                )
        except BaseException:
            self._lifeline.cut()
            raise
        finally:
            self._lifeline.handed_over()

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def owned(self) -> bool:
        """Report whether this is the process that started it."""
        return self._owner == os.getpid()

    def status(self, wait_s: float = 0.0) -> int | None:
        """Return the exit status, None while it runs; waits for so long for an end. A fork's parent's server runs."""
        if not self.owned:
            return None
        try:
            return self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return None

    def ready_line(self, timeout_s: float = START_S) -> str:
        """Wait until it serves, and return the line that says where. Raises StartFailed, and ends it."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            text, hangs = _first_line(output.fileno(), timeout_s)
        if text.endswith("\n"):
            return text
        if hangs:
            self._process.kill()
        status = self._process.wait()
        self._lifeline.cut()
        told = self._errors.read_text(errors="replace")
        raise StartFailed(status, text, told, f"the server was not ready after {timeout_s:g} s" if hangs else "")

    def end(self) -> None:
        """Shut it down in good order, and wait."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def disown(self) -> None:
        """Let go of it in a forked process, which is not its parent and would be warned that it runs."""
        self._process.returncode = 0

    def kill(self) -> None:
        """Kill it, and wait: for a store in memory there is nothing to be done."""
        self._process.kill()
        self._process.wait()
        self._lifeline.cut()


def _first_line(number: int, timeout_s: float) -> tuple[str, bool]:
    """Return what a pipe holds up to a line's end or its own; and True if neither came in time."""
    text, until = b"", time.monotonic() + timeout_s
    poll = select.poll()
    poll.register(number, select.POLLIN)
    while not text.endswith(b"\n"):
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            return text.decode(errors="replace"), True
        piece = os.read(number, _CHUNK)
        if not piece:
            break
        text += piece
    return text.decode(errors="replace"), False


def environment() -> dict[str, str]:
    """Return this process's environment, with a PYTHONPATH for this orchtw."""
    folders = (_ROOT, os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
