"""`check_room`: whether the process may have more memory."""

from __future__ import annotations

import resource
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.memory.headroom import MOST_BYTES, check_room


class RoomTests(SynchronousTestCase):
    def limit(self, more: int) -> None:
        """Limit the process to so many bytes beyond its current size, until the end of the test."""
        before = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, before)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, before[1]))

    def test_limited(self) -> None:
        """A size beyond the address space limit raises MemoryError; one within it passes."""
        self.limit(64 << 20)
        check_room(16 << 20)
        self.assertRaises(MemoryError, check_room, 128 << 20)

    def test_unlimited(self) -> None:
        """Nothing is taken, however much is asked for."""
        before = Path("/proc/self/statm").read_text().split()[0]
        for _ in range(100):
            check_room(MOST_BYTES * 100)
        self.assertLess(abs(int(Path("/proc/self/statm").read_text().split()[0]) - int(before)), 1000)
