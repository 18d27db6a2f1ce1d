"""Deduplication of concurrent calls: waiters for the same key share one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SharedCalls(Generic[K, T]):
    """Running calls by key. Cancelling a waiter does not stop the call unless it was the last one."""

    def __init__(self) -> None:
        self._running: dict[K, _Call[T]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, key: K) -> bool:
        return key in self._running

    async def result(self, key: K, begin: Callable[[], Coroutine[Deferred[Any], Any, T]]) -> T:
        """Return the result of the call for `key`, which is started unless it is running. Raises as the call does."""
        call = self._running.get(key)
        if call is None:
            call = self._running[key] = _Call(lambda: self._forget(key, call))
            call.run(begin())
        return await call.wait()

    def _forget(self, key: K, call: _Call[T] | None) -> None:
        if self._running.get(key) is call:
            del self._running[key]


class _Call(Generic[T]):
    def __init__(self, ended: Callable[[], object]) -> None:
        self._ended = ended
        self._waiting: set[Deferred[T]] = set()
        self._work: Deferred[T] | None = None
        self._result: T | Failure | None = None
        self._done = False

    def run(self, work: Coroutine[Deferred[Any], Any, T]) -> None:
        self._work = Deferred.fromCoroutine(work)
        self._work.addBoth(self._end)

    def _end(self, result: T | Failure) -> None:
        self._done, self._result = True, result
        self._ended()
        waiting, self._waiting = self._waiting, set()
        for each in waiting:
            each.callback(result)

    async def wait(self) -> T:
        waiter: Deferred[T] = Deferred()
        if self._done:
            waiter.callback(self._result)  # type: ignore[arg-type]
            return await waiter
        self._waiting.add(waiter)
        try:
            return await waiter
        except CancelledError:
            self._leave(waiter)
            raise

    def _leave(self, waiter: Deferred[T]) -> None:
        self._waiting.discard(waiter)
        if not self._waiting and not self._done and self._work is not None:
            self._ended()
            self._work.cancel()
