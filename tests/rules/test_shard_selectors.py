"""Shard selectors (reference READ-29)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.shard_selectors import fnv1a_64


class HashTests(SynchronousTestCase):
    """The hash that clients compute too."""

    def test_published_values(self) -> None:
        """It is FNV-1a of 64 bits, with that function's published values (reference READ-29)."""
        self.assertEqual(fnv1a_64(b""), 0xCBF29CE484222325)
        self.assertEqual(fnv1a_64(b"a"), 0xAF63DC4C8601EC8C)
        self.assertEqual(fnv1a_64(b"foobar"), 0x85944171F73967E8)
