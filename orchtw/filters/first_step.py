"""For stages that take the first step of a request themselves: most reads end in it."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Final

from orchtw.request import Response

READS: Final = ("GET", "HEAD")


class Resumed:
    """To be awaited: what a coroutine comes to whose first step has ended; `waiting` is what it waits for."""

    __slots__ = ("_answer", "waiting")

    def __init__(self, answer: Coroutine[Any, Any, Response], waiting: Any) -> None:
        self._answer = answer
        self.waiting = waiting

    def __await__(self) -> Generator[Any, Any, Response]:
        answer = self._answer
        try:
            while True:
                try:
                    yield self.waiting
                except BaseException as problem:
                    self.waiting = answer.throw(problem)
                else:
                    self.waiting = answer.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
