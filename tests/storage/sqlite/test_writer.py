"""Waiting of the writer's thread for work."""

from __future__ import annotations

import queue
import threading

from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.sqlite.writer import waited_for

TURNS = 30_000  # of which a plain `get` hangs in dozens


class WaitTests(SynchronousTestCase):
    def test_a_time_that_has_passed(self) -> None:
        """However short the wait is, and whatever was found before, it ends: a compaction goes on without writes."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        empty: list[int] = []

        def turns() -> None:
            for number in range(TURNS):
                waiting.put(number)
                waited_for(waiting, 1)
                try:
                    waited_for(waiting, 1e-9)
                except queue.Empty:
                    empty.append(number)

        thread = threading.Thread(target=turns, daemon=True)
        thread.start()
        thread.join(60)
        self.assertEqual(len(empty), TURNS)
