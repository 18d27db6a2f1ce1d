"""Writes of many objects in batches that grow while they succeed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from orchtw.client.concurrency import each

AT_A_TIME: Final = 8
"""Concurrent writes of one controller: the store commits queued writes together."""


async def slow_start(count: int, create: Callable[[int], Awaitable[None]]) -> None:
    """Call `create` with the numbers from 0 on, in batches of 1, 2, 4 and so on, until one of a batch fails.

    A quota or a webhook that refuses all pods is so asked once, not thousands of times. Raises the first failure.
    """
    begun, size = 0, 1
    while begun < count:
        batch = range(begun, min(begun + size, count))
        await each(batch, create, min(len(batch), AT_A_TIME))
        begun, size = batch.stop, size * 2
