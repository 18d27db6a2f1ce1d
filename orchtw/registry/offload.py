"""Offloading of long computations to one thread, one piece at a time."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

from orchtw.errors import TooManyRequests
from orchtw.memory.headroom import check_room
from orchtw.metrics.series import Histogram

T = TypeVar("T")

INLINE_BYTES: Final = 64 * 1024
"""Bytes below which work is done at once: decoding them takes a few milliseconds, as does the detour to a thread."""

MAX_WAITING_BYTES: Final = 256 << 20
"""Bytes of input that may wait for the thread, of all requests together."""

ROOM: Final = 64
"""Worst-case bytes of memory per byte of input while it is processed: many small parts, decoded and encoded."""

SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Compute(Protocol):
    """Runs a computation on so many bytes of input without blocking the reactor, as `Offload.run` does."""

    async def __call__(self, size_bytes: int, work: Callable[[], T], /) -> T: ...


async def at_once(size_bytes: int, work: Callable[[], T], /) -> T:
    """Run a computation at once: `Compute` without a thread."""
    return work()


class Offload:
    """One worker thread for pure computations on large inputs.

    There is only one, because threads share the interpreter: each further one would make the reactor wait for another
    turn. `seconds` measures the time to results, including the wait for the thread.
    """

    def __init__(self, reactor: Any, *, inline_bytes: int = INLINE_BYTES) -> None:
        self._reactor = reactor
        self._inline_bytes = inline_bytes
        self._pool: Any = ThreadPool(minthreads=0, maxthreads=1, name="compute")
        self._waiting_bytes = 0
        self.seconds = Histogram(SECONDS)

    @property
    def waiting_bytes(self) -> int:
        """Input of what waits for the thread, and of what it works on."""
        return self._waiting_bytes

    def start(self) -> None:
        """Allow threads; until then, and after `stop`, everything is done at once."""
        self._pool.start()

    def stop(self) -> None:
        """Stop once accepted work is finished; returns when the thread has ended."""
        self._pool.stop()

    def inline(self, size_bytes: int) -> bool:
        """Report whether work of that size is done at once, without waiting."""
        return size_bytes <= self._inline_bytes or not self._pool.started

    async def run(self, size_bytes: int, work: Callable[[], T]) -> T:
        """Return the result of `work` on `size_bytes` of input: run at once if they are few, else in the thread.

        `work` must not use state that changes meanwhile. Raises what `work` raises, and TooManyRequests (429) when
        too much is waiting, or the process has no room for it.
        """
        if self.inline(size_bytes):
            return work()
        if self._waiting_bytes + size_bytes > MAX_WAITING_BYTES:
            raise TooManyRequests("too many large requests are being processed", {"retryAfterSeconds": 1})
        self._waiting_bytes += size_bytes
        began = perf_counter()
        try:
            result: T = await deferToThreadPool(self._reactor, self._pool, _with_room, size_bytes * ROOM, work)
            return result
        finally:
            self._waiting_bytes -= size_bytes
            self.seconds.observe(perf_counter() - began)


def _with_room(size: int, work: Callable[[], T]) -> T:
    try:
        check_room(size)
    except MemoryError:
        raise TooManyRequests("the server has no memory for large requests", {"retryAfterSeconds": 1}) from None
    return work()
