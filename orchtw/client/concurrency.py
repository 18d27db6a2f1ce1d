"""Bounded concurrency over many items."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred, gatherResults

T = TypeVar("T")


async def each(items: Iterable[T], act: Callable[[T], Awaitable[None]], at_a_time: int) -> None:
    """Run `act` on every item, `at_a_time` of them concurrently.

    All are tried; the first failure is raised at the end. A cancellation ends it with the items under way.
    """
    pending = iter(items)
    failures: list[Exception] = []

    async def work() -> None:
        for item in pending:
            try:
                await act(item)
            except CancelledError as error:
                failures.insert(0, error)
                return
            except Exception as error:  # noqa: BLE001 - raised below, once all have been tried
                failures.append(error)

    await gatherResults([Deferred.fromCoroutine(work()) for _ in range(at_a_time)])
    if failures:
        raise failures[0]
