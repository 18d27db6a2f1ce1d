"""Claims of numbers by writes of Services (reference KIND-27)."""
# covers: orchtw.registry.allocation.allocator

from __future__ import annotations

from collections.abc import Awaitable
from ipaddress import ip_network
from random import Random
from typing import Any

from twisted.internet.defer import ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.allocation.allocator import Allocator
from orchtw.registry.allocation.blocks import LocalBlock
from orchtw.registry.allocation.claims import Claim, Held
from orchtw.registry.allocation.ranges import AddressRange


class ClaimTests(SynchronousTestCase):
    """Claims on the six addresses of a network."""

    def setUp(self) -> None:
        self.range = AddressRange(ip_network("10.0.0.0/29"))
        self.allocator = Allocator(self.range, lambda name: LocalBlock(), Random(1))
        self.holding: set[Held] = set()

    def claim(self, *, dry_run: bool = False) -> Claim:
        return Claim(self.holding, dry_run=dry_run)

    def done(self, awaited: Awaitable[Any]) -> Any:
        return self.successResultOf(ensureDeferred(awaited))  # type: ignore[arg-type]

    def test_asked_for(self) -> None:
        """A number is given once, and only inside the range."""
        first = self.range.first
        self.assertEqual(self.done(self.claim().take(self.allocator, first)), "")
        self.assertEqual(self.done(self.claim().take(self.allocator, first)), self.range.taken(first))
        self.assertEqual(
            self.done(self.claim().take(self.allocator, first - 1)), self.range.out_of_range(first - 1)
        )

    def test_any(self) -> None:
        """All numbers but the first are picked, each once; then there are none."""
        claim = self.claim()
        picked = [self.done(claim.take_any(self.allocator)) for _ in range(6)]
        self.assertEqual(set(picked[:5]), set(range(self.range.picked_from, self.range.last + 1)))
        self.assertIsNone(picked[5])

    def test_ends(self) -> None:
        """A failed write gives its numbers back; a stored one keeps them, and frees those that it gave up."""
        failed, stored = self.claim(), self.claim()
        number = self.done(failed.take_any(self.allocator))
        self.assertEqual(self.holding, {(self.allocator, number)})
        failed.release()
        self.assertEqual((self.holding, self.done(self.allocator.taken())), (set(), set()))
        number = self.done(stored.take_any(self.allocator))
        stored.keep()
        self.assertEqual(self.done(self.allocator.taken()), {number})
        moved = self.claim()
        moved.give_up([(self.allocator, number)])
        moved.keep()
        self.assertEqual(self.done(self.allocator.taken()), set())

    def test_dry_run(self) -> None:
        """A dry run shows different free numbers, and takes none."""
        claim = self.claim(dry_run=True)
        shown = {self.done(claim.take_any(self.allocator)) for _ in range(2)}
        self.assertEqual(len(shown), 2)
        claim.release()
        self.assertEqual(self.done(self.allocator.taken()), set())
