"""Memory held for readers beside the objects stays within its limit."""
# covers: orchtw.watch.room

from __future__ import annotations

from orchtw.rules.selectors import parse_labels
from orchtw.schema.tables.cached_rows import cached_row
from orchtw.storage.cache import reclaim
from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.storage.store import Op
from orchtw.watch.bookmarks import RESOLUTION_S
from orchtw.watch.entry import ROW_BYTES, Entry
from orchtw.watch.event_log import MAX_SUPERSEDED_BYTES
from orchtw.watch.room import Room
from orchtw.watch.selection import Selection
from orchtw.wire.packing import Packed, Packer
from tests.storage.cache.case import CacheTestCase, Resource

LIMIT = 100_000
PACKER = Packer()
JSON = b'{"some":"text"}' * 100


class Sparing(Resource):
    """Makes JSON of 1,500 bytes, and can do with less."""

    def spare(self, entry: Entry, *, drop: bool) -> None:
        if entry.json is not None:
            entry.json = None if drop else PACKER.pack(entry.json)
        entry.other = None


class Lists:
    """Compressed lists: gives up what it is told to."""

    def __init__(self, size: int) -> None:
        self.used_bytes = size
        self.given_up: list[int] = []

    def give_up(self, size: int) -> None:
        self.given_up.append(size)
        self.used_bytes -= min(size, self.used_bytes)


class Stubborn(Lists):
    """Holder that gives up nothing."""

    def give_up(self, size: int) -> None:
        """All of it has been asked for."""


class RoomTests(CacheTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pods = Sparing("/registry/pods/")
        self.patch(reclaim, "RUN", 7)

    def fill(self, count: int, limit: int = LIMIT) -> ResourceCache:
        """A cache of so many pods that is bounded."""
        for number in range(count):
            self.store.put(f"/registry/pods/a/{number:05}", b"x")
        return self.start(limit_bytes=limit)

    def encode(self, pods: ResourceCache, count: int) -> None:
        """Make the JSON of the first ones."""
        for entry in pods.snapshot()[:count]:
            entry.json = JSON
            pods.made(entry, len(JSON), 0, 0)

    def settle(self) -> None:
        self.clock.advance(RESOLUTION_S)
        for _ in range(50):
            self.turn()

    def test_within(self) -> None:
        """As long as there is room nothing is touched (reference LIMIT-18)."""
        pods = self.fill(100)
        self.encode(pods, 60)
        self.settle()
        self.assertEqual(self.cacher.room.plain, 60 * len(JSON))
        self.assertTrue(all(entry.json is JSON for entry in pods.snapshot()[:60]))
        self.assertEqual(self.cacher.held_bytes()["encodings"], 60 * len(JSON))

    def test_packed(self) -> None:
        """Excess forms are packed, the longest unused first, and no more than needed."""
        pods = self.fill(100)
        self.encode(pods, 80)
        self.settle()
        room = self.cacher.room
        self.assertLessEqual(room.excess, 0)
        kinds = [type(entry.json) for entry in pods.snapshot()[:80]]
        packed = kinds.count(Packed)
        self.assertEqual(kinds, [Packed] * packed + [bytes] * (80 - packed))
        self.assertLess(packed, 30)
        first = pods.snapshot()[0].json
        assert isinstance(first, Packed)
        self.assertEqual(PACKER.unpack(first), JSON)
        self.assertEqual(room.packed, packed * len(first))

    def test_hand_goes_on(self) -> None:
        """The next time others are packed, those that come after."""
        pods = self.fill(100)
        self.encode(pods, 80)
        self.settle()
        again = pods.snapshot()[0]
        pods.made(again, len(JSON), -len(again.json or b""), 0)
        again.json = JSON
        self.encode(pods, 0)
        for entry in pods.snapshot()[80:]:
            entry.json = JSON
            pods.made(entry, len(JSON), 0, 0)
        self.settle()
        self.assertIs(again.json, JSON)
        self.assertLessEqual(self.cacher.room.excess, 0)

    def test_dropped(self) -> None:
        """Where packing does not help any more, forms are given up."""
        pods = self.fill(2000, limit=20_000)
        for entry in pods.snapshot():
            entry.json = packed = PACKER.pack(JSON)
            pods.made(entry, 0, len(packed), 0)
        self.settle()
        self.assertLessEqual(self.cacher.room.excess, 0)
        left = [entry for entry in pods.snapshot() if entry.json is not None]
        self.assertGreater(len(left), 0)
        self.assertEqual(self.cacher.room.packed, sum(len(entry.json or b"") for entry in left))

    def test_rows(self) -> None:
        """Other forms count, and go."""
        pods = self.fill(200)
        for entry in pods.snapshot():
            entry.other = {("cells",): (row := cached_row(["x"], 1))}
            pods.made(entry, 0, 0, ROW_BYTES + len(row))
        self.settle()
        self.assertLessEqual(self.cacher.room.excess, 0)
        left = sum(bool(entry.other) for entry in pods.snapshot())
        self.assertEqual(self.cacher.held_bytes()["rows"], (ROW_BYTES + len(row)) * left)

    def test_compressed(self) -> None:
        """Compressed pieces go before any JSON is dropped, and after what can be packed (reference LIMIT-19)."""
        pods = self.fill(100)
        room = self.cacher.room
        room.compressed = lists = Lists(60_000)
        self.encode(pods, 40)
        self.settle()
        self.assertLessEqual(room.excess, 0)
        self.assertEqual(lists.given_up, [])
        lists.used_bytes = LIMIT
        for entry in pods.snapshot():
            self.cacher.room.count(entry.forms(), -1)
            entry.json = PACKER.pack(JSON)
            self.cacher.room.count(entry.forms())
        excess, packed = room.excess, room.packed
        self.settle()
        self.assertEqual(lists.given_up, [excess + LIMIT // reclaim.SPARE])
        self.assertEqual(self.cacher.held_bytes()["compressed"], lists.used_bytes)
        self.assertEqual((room.plain, room.packed), (0, packed))
        self.assertEqual(self.cacher.held_bytes()["compressed"], lists.used_bytes)

    def test_indexes_last(self) -> None:
        """Indexes go when a whole round was not enough (reference LIMIT-19)."""
        pods = self.fill(1100)
        pods.indexes.looked(Selection("", parse_labels("app=x"), None), 1100, 0)
        self.settle()
        self.assertEqual(len(pods.indexes), 1)
        self.encode(pods, 80)
        self.settle()
        self.assertEqual(len(pods.indexes), 1)
        room = self.cacher.room
        room.compressed = Stubborn(LIMIT + 1)
        self.settle()
        self.clock.advance(RESOLUTION_S)
        self.settle()
        self.assertEqual((len(pods.indexes), room.plain), (0, 0))

    def test_changes(self) -> None:
        """A replaced object's bytes count for the history; those of others do not count."""
        pods = self.fill(3)
        self.encode(pods, 3)
        old = pods.snapshot()[0]
        self.store.put("/registry/pods/a/00000", b"y")
        self.store.write([Op("/registry/pods/a/00001", None)])
        room = self.cacher.room
        self.assertEqual((room.plain, room.history.used_bytes > 2 * len(JSON)), (len(JSON), True))
        pods.made(old, len(JSON), 0, 0)
        self.assertEqual(room.plain, len(JSON))

    def test_limits(self) -> None:
        """Forms that cannot be made again have a part of the room; without a limit, bounds of their own."""
        room = Room(LIMIT)
        self.assertEqual((room.history.limit_bytes, room.recent.limit_bytes), (LIMIT // 3, LIMIT // 8))
        self.assertEqual((room.pinned_limit, room.excess), (LIMIT // 4, -LIMIT))
        self.assertEqual((room.indexes.limit_bytes, room.compressed_limit), (LIMIT // 4, LIMIT // 4))
        self.assertEqual(Room().excess, 0)
        self.assertGreater(Room().pinned_limit, MAX_SUPERSEDED_BYTES)
