"""Large computations leave the reactor's thread."""

from __future__ import annotations

from threading import current_thread, main_thread
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.trial.unittest import TestCase

from orchtw.errors import BadRequest, TooManyRequests
from orchtw.registry import offload
from orchtw.registry.offload import INLINE_BYTES, Offload

reactor: Any = installed_reactor


class OffloadTests(TestCase):
    def setUp(self) -> None:
        self.offload = Offload(reactor)
        self.offload.start()
        self.addCleanup(self.offload.stop)

    async def test_small_work_is_done_at_once(self) -> None:
        """A detour through a thread would cost more than the work."""
        self.assertIs(await self.offload.run(INLINE_BYTES, current_thread), main_thread())

    async def test_large_work_leaves_the_reactor(self) -> None:
        """The reactor's thread is free while it runs."""
        self.assertIsNot(await self.offload.run(INLINE_BYTES + 1, current_thread), main_thread())

    async def test_refusals_come_through(self) -> None:
        """An exception of the work reaches its caller."""

        def refuse() -> None:
            raise BadRequest("no")

        with self.assertRaises(BadRequest):
            await self.offload.run(INLINE_BYTES + 1, refuse)

    async def test_waiting_input_is_bounded(self) -> None:
        """More than the bound is a 429, and there is room again afterwards."""
        self.patch(offload, "MAX_WAITING_BYTES", INLINE_BYTES * 3)
        first: Deferred[None] = ensureDeferred(self.offload.run(INLINE_BYTES * 2, lambda: None))
        with self.assertRaises(TooManyRequests):
            await self.offload.run(INLINE_BYTES * 2, lambda: None)
        await first
        await self.offload.run(INLINE_BYTES * 2, lambda: None)

    async def test_no_room(self) -> None:
        """Work that the process has no memory for is not begun: a 429, and nothing is left waiting."""

        def none(_size: int) -> None:
            raise MemoryError

        self.patch(offload, "check_room", none)
        with self.assertRaises(TooManyRequests) as refused:
            await self.offload.run(INLINE_BYTES + 1, self.fail)
        self.assertEqual((refused.exception.details, self.offload.waiting_bytes), ({"retryAfterSeconds": 1}, 0))

    async def test_without_a_thread_everything_is_done_at_once(self) -> None:
        """Before the start and after the end there is nobody else to do it."""
        self.assertIs(await Offload(reactor).run(INLINE_BYTES + 1, current_thread), main_thread())
