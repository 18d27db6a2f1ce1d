"""Stepping of coroutines by hand: most reads finish in the first step and need no timer and no Deferred."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchtw.request import Response

READS: Final = ("GET", "HEAD")


class Resumed:
    """Awaitable that drives a coroutine on from its first step; `waiting` is the awaited Deferred."""

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


class Detached:
    """Coroutine that runs to its end even if nothing awaits it; `ended` is called with its result or exception.

    `waiting` is the Deferred that its first step yielded. Costs a third of `Deferred.fromCoroutine`, and nearly
    every write needs one.
    """

    __slots__ = ("_answer", "_ended", "_waiting")

    def __init__(
        self,
        answer: Coroutine[Any, Any, Response],
        waiting: Deferred[Any],
        ended: Callable[[Response | Failure], None],
    ) -> None:
        self._answer = answer
        self._ended = ended
        self._waiting = waiting
        waiting.addBoth(self._go_on)

    def cancel(self) -> None:
        """Cancel the Deferred that the coroutine awaits."""
        self._waiting.cancel()

    def _go_on(self, result: Any) -> None:
        outcome = _step(self._answer, result)
        if isinstance(outcome, Response | Failure):
            self._ended(outcome)
        else:
            self._waiting = outcome
            outcome.addBoth(self._go_on)


def _step(answer: Coroutine[Any, Any, Response], result: Any) -> Deferred[Any] | Response | Failure:
    """Resume a coroutine; return its response, its failure, or the Deferred that it awaits next."""
    try:
        if isinstance(result, Failure):
            return answer.throw(result.value)  # type: ignore[no-any-return, arg-type]
        return answer.send(None)  # type: ignore[no-any-return]
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    except BaseException:  # noqa: BLE001 - as a Deferred does: waiters are told
        return Failure()  # type: ignore[no-untyped-call]
