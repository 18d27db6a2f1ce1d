"""Runs a command's work on a reactor of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react


def exit_status(
    work: Callable[[Any], Coroutine[Any, Any, int]], *, interrupted: int = 1, cancel: bool = False
) -> int:
    """Run the work, given the reactor, and return its exit status.

    `interrupted` is the status if a signal ends the reactor first, or an exception the work; with `cancel`, a signal
    cancels the work.
    """
    status = interrupted

    async def run(reactor: Any) -> None:
        nonlocal status
        status = await work(reactor)

    def begin(reactor: Any) -> Deferred[None]:
        running = Deferred.fromCoroutine(run(reactor))
        if cancel:
            reactor.addSystemEventTrigger("before", "shutdown", running.cancel)
        return running

    with suppress(SystemExit):
        react(begin)
    return status
