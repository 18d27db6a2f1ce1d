"""The cache of compressed pieces: its bounds, and what goes first."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.gzip_cache import Compressed, GzipCache


def piece(size: int = 100_000) -> Compressed:
    """A piece that is held in so many bytes."""
    return Compressed(b"x" * size, 0, size, 0)


EACH = piece().held_bytes


class GzipCacheTests(SynchronousTestCase):
    def kept(self, cache: GzipCache, names: str) -> str:
        """Return the cached pieces, without asking for them."""
        return "".join(name for name in names if name in cache._pieces)

    def read(self, cache: GzipCache, names: str) -> int:
        """Read pieces in turn, as lists do; return how many were there."""
        found = 0
        for name in names:
            if cache.get(name) is None:
                cache.put(name, piece())
            else:
                found += 1
        return found

    def test_bound(self) -> None:
        """Pieces with what they take beside their data stay within the bound, however short they are."""
        cache = GzipCache(1 << 20)
        for number in range(10_000):
            cache.put(number, piece(1))
        self.assertLessEqual(cache.used_bytes, 1 << 20)
        self.assertEqual(cache.used_bytes, len(cache) * piece(1).held_bytes)
        cache.put("long", piece(2 << 20))
        self.assertIsNone(cache.get("long"))

    def test_larger_than_the_bound(self) -> None:
        """Of lists that do not fit, as much is found again as fits."""
        cache = GzipCache(8 * EACH)
        names = "abcdefghijklmnop"
        self.read(cache, names)
        for _ in range(5):
            self.assertEqual(self.read(cache, names), 8)

    def test_outdated(self) -> None:
        """Pieces that are not asked for any more make room for others."""
        cache = GzipCache(8 * EACH)
        self.read(cache, "abcdefgh")
        for _ in range(4):
            self.read(cache, "ABCDEFGH")
        self.assertEqual(self.read(cache, "ABCDEFGH"), 8)

    def test_give_up(self) -> None:
        """Unused pieces are evicted, the coldest first (reference LIMIT-19)."""
        cache = GzipCache()
        self.read(cache, "abcd")
        cache.give_up(EACH)
        self.assertEqual(len(cache), 4)
        cache.get("a")
        cache.give_up(EACH)
        self.assertEqual(self.kept(cache, "abcd"), "acd")
        self.read(cache, "acd")
        cache.give_up(4 * EACH)
        self.assertEqual((len(cache), cache.used_bytes), (3, 3 * EACH))
        cache.give_up(4 * EACH)
        self.assertEqual((len(cache), cache.used_bytes), (0, 0))
