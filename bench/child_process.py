"""Child process that serves commands over a pipe, so that the one that writes and measures does not wait for it."""

from __future__ import annotations

import abc
import multiprocessing
import select
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from bench.http1 import BenchError

REPLY_LIMIT_S = 180.0
END_LIMIT_S = 10.0


class ChildProcess:
    """The parent's handle of the process in which `main` serves: send a command with `ask`, fetch its `answer`."""

    def __init__(self, main: Callable[[Connection], None]) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=main, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def ask(self, command: str, *arguments: object) -> None:
        """Have the method of that name called there."""
        self._pipe.send((command, arguments))

    def answer(self) -> Any:
        """Return the result of the last command; BenchError if it failed or nothing comes."""
        try:
            if not self._pipe.poll(REPLY_LIMIT_S):
                raise BenchError("the watchers' process does not answer")
            answer = self._pipe.recv()
        except EOFError:
            raise BenchError("the watchers' process died") from None
        if isinstance(answer, Exception):
            raise BenchError(str(answer))
        return answer

    def close(self) -> None:
        """End the process, and what it has open."""
        self._pipe.close()
        self._process.join(END_LIMIT_S)
        self._process.kill()
        self._process.join()


class Commands(abc.ABC):
    """The child's side: its methods are the commands, its pipe is on the epoll that `_turn` waits for."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._epoll = select.epoll()
        self._epoll.register(pipe.fileno(), select.EPOLLIN)

    def run(self) -> None:
        """Serve commands until the parent closes the pipe."""
        while True:
            if self._turn(-1):
                try:
                    command, arguments = self._pipe.recv()
                except EOFError:
                    return
                try:
                    self._pipe.send(getattr(self, command)(*arguments))
                except (BenchError, OSError) as problem:
                    self._pipe.send(problem)

    @abc.abstractmethod
    def _turn(self, timeout_s: float) -> bool:
        """Read once from whatever is ready; True if the pipe is."""
