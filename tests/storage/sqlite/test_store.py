# mypy: disallow-untyped-calls=False
"""The SQLite store: conformance, its file, its limits, a failing disk, and a model of all of it."""
# covers: orchtw.storage.store, orchtw.storage.sqlite.file, orchtw.storage.sqlite.reader
# covers: orchtw.storage.testing.ends, orchtw.storage.testing.feeds, orchtw.storage.testing.lists
# covers: orchtw.storage.testing.writes

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import TestCase

from orchtw import errors
from orchtw.config.storage import StorageOptions
from orchtw.errors import ConfigError
from orchtw.storage import STORES
from orchtw.storage.sqlite import reader, writer
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Change, KeyValue, Op, Store, StoreHost, Translation
from orchtw.storage.testing import Recorder, StoreConformance
from tests.storage import model
from tests.storage.quick_ends import QuickEnds
from tests.storage.store_files import FileCase, reactor


class SqliteConformanceTests(QuickEnds, StoreConformance, TestCase):
    """The store in a file of its own (reference STORE-1)."""

    def make_store(self) -> Store:
        """Return an empty store."""
        return SqliteStore(self.mktemp(), reactor=reactor, clock=Clock(), compaction_interval_s=0)


class FileTests(FileCase):
    """Acceptance and refusal of files as stores."""

    def host(self, checked: list[Path], folder: Path) -> StoreHost:
        def none(vocabulary: str) -> Translation:
            raise ConfigError(vocabulary)

        return StoreHost(
            reactor=reactor, vocabulary="orch", translation=none, check_path=checked.append, folder=folder
        )

    async def test_registry_makes_the_backend(self) -> None:
        """`sqlite` in the registry is this store, in the data folder; none of its files may be a link."""
        checked: list[Path] = []
        folder = Path(self.mktemp())
        folder.mkdir()
        store = STORES["sqlite"](self.host(checked, folder), StorageOptions())
        self.assertIsInstance(store, SqliteStore)
        names = ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite.lock"]
        self.assertEqual(checked, [folder / name for name in names])
        store.probe()
        self.assertTrue((folder / "store.sqlite").exists())
        store.release()

    async def test_durability(self) -> None:
        """Connections that write wait for the disk, but not with `--unsafe-no-fsync` (reference STORE-43)."""
        for unsafe, number in ((False, 2), (True, 0)):
            folder = Path(self.mktemp())
            folder.mkdir()
            store = STORES["sqlite"](self.host([], folder), StorageOptions(unsafe_no_fsync=unsafe))
            assert isinstance(store, SqliteStore)
            connections = [store._file.open(), store._file.checkpointer()]
            found = [each.execute("PRAGMA synchronous").fetchone() for each in connections]
            self.assertEqual(found, [(number,), (number,)])
            for each in connections:
                each.close()
            store.release()

    async def test_new_file_is_private(self) -> None:
        """The file and its side files are the owner's alone (reference STORE-7)."""
        store = await self.open()
        await store.commit(Op("/a", b"secret"))
        folder = os.path.dirname(self.path)
        modes = {name: stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in os.listdir(folder)}
        self.assertEqual(set(modes.values()), {0o600}, modes)

    async def test_new_store_is_at_revision_one(self) -> None:
        """An empty store is at 1 and its first write is 2, as in etcd."""
        store = await self.open()
        self.assertEqual(await store.revision(), 1)
        self.assertEqual((await store.commit(Op("/a", b""))).revision, 2)

    async def test_everything_survives_a_restart(self) -> None:
        """States, history, tombstones and the count are there again after stop and start."""
        store = await self.open()
        for op in (Op("/a", b"1"), Op("/a", b"2"), Op("/b", b"x"), Op("/b", None)):
            await store.commit(op)
        await store.stop()
        store = await self.open()
        self.assertEqual(await store.revision(), 5)
        self.assertEqual(await store.get("/a"), KeyValue("/a", b"2", 3, 2))
        self.assertEqual(await store.get("/a", 2), KeyValue("/a", b"1", 2, 2))
        self.assertEqual(await store.get("/b", 4), KeyValue("/b", b"x", 4, 4))
        self.assertEqual((await store.commit(Op("/b", b"y", 0))).revision, 6)
        self.assertEqual((await store.commit(Op("/a", b"y", 2))).current, KeyValue("/a", b"2", 3, 2))
        recorder = Recorder()
        (await store.subscribe(0, recorder.deliver)).stop()
        self.assertEqual(recorder.revisions, [2, 3, 4, 5, 6])

    async def test_other_vocabulary_is_refused(self) -> None:
        """A store remembers its vocabulary and opens under no other (reference VOC-7)."""
        await (await self.open(vocabulary="kubernetes")).stop()
        before = os.stat(self.path).st_mtime_ns
        self.assertEqual(
            await self.refusal(),
            f"{self.path}: was made with --vocabulary kubernetes; start with that, or use another --data-dir",
        )
        self.assertEqual(os.stat(self.path).st_mtime_ns, before)
        await self.open(vocabulary="kubernetes")

    async def test_second_opener_is_refused(self) -> None:
        """Two stores on one file are refused, and the file is free again after stop."""
        store = await self.open()
        self.assertIn("in use by another process", await self.refusal())
        await store.stop()
        await self.open()

    async def test_foreign_files_are_refused_untouched(self) -> None:
        """No database, another program's database and a later format are refused in one line each."""
        self.overwrite(0, b"kind: Pod\n" * 1000)
        self.assertIn("damaged or not a store", await self.refusal())
        os.unlink(self.path)
        self.query("CREATE TABLE theirs (x)")
        self.assertIn("another program's database", await self.refusal())
        self.assertEqual(self.query("SELECT name FROM sqlite_master"), [("theirs",)])
        os.unlink(self.path)
        await (await self.open()).stop()
        self.query("PRAGMA user_version = 99")
        self.assertIn("has format 99", await self.refusal())

    async def test_damaged_file_is_refused(self) -> None:
        """A page overwritten with rubbish, and a file cut short, are refused in one line."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"/{n:05d}", b"v" * 500)) for n in range(500)])
        await store.stop()
        size = os.stat(self.path).st_size
        self.overwrite(3 * 8192, b"\xa5" * 8192)
        self.assertIn("damaged", await self.refusal())
        os.truncate(self.path, size // 2)
        self.assertIn("damaged", await self.refusal())

    async def test_unusable_places_are_refused(self) -> None:
        """A missing directory, and a directory in the file's place, are refused in one line."""
        self.assertIn("No such file or directory", await self.refusal(os.path.join(self.path, "x")))
        os.mkdir(self.path)
        await self.refusal()

    async def test_half_made_file_is_made_again(self) -> None:
        """A file without tables, left by a kill during the first start, is a new store."""
        self.overwrite(0, b"")
        await (await self.open()).stop()
        os.unlink(self.path)
        self.query("PRAGMA journal_mode = WAL")
        self.assertEqual(await (await self.open()).revision(), 1)


class BatchTests(FileCase):
    """Group commit, and reads that take more than one chunk."""

    async def test_piled_up_writes_share_a_transaction(self) -> None:
        """Writes handed over in one turn take a few transactions, not one each (reference DESIGN-17)."""
        store = await self.open()
        batches: list[int] = []
        await store.subscribe(1, lambda changes: batches.append(len(changes)))
        await gatherResults([store.commit(Op(f"/{n}", b"")) for n in range(200)])
        self.assertEqual(sum(batches), 200)
        self.assertLess(len(batches), 20)

    async def test_replaced_values_are_not_read(self) -> None:
        """Only what is updated for the first time is read again, however few objects are noted."""
        self.patch(writer, "MOST_CREATED", 2)
        looked: list[str] = []
        read_rows = reader.read_rows

        def counted(connection: sqlite3.Connection, keys: Mapping[int, str]) -> reader.Rows:
            looked.extend(keys.values())
            return read_rows(connection, keys)

        self.patch(writer, "read_rows", counted)
        store = await self.open()
        created = {key: (await store.commit(Op(key, b"0"))).revision for key in ("/a", "/b", "/c")}
        for key in ("/a", "/a", "/b", "/b", "/a", "/c", "/c", "/a"):
            await store.commit(Op(key, b"1"))
            found = await store.get(key)
            self.assertEqual(found and found.create_revision, created[key])
        self.assertEqual(looked, ["/a", "/b", "/c", "/a"])
        refused = await store.commit(Op("/a", b"2", 1))
        self.assertEqual(refused.current and refused.current.value, b"1")
        await store.commit(Op("/a", None))
        again = (await store.commit(Op("/a", b"3"))).revision
        await store.commit(Op("/a", b"4"))
        found = await store.get("/a")
        self.assertEqual(found and found.create_revision, again)

    async def test_long_reads_are_chunked_without_seams(self) -> None:
        """Lists and histories longer than a chunk, by rows or by bytes, are complete and in order."""
        self.patch(reader, "CHUNK_KEYS", 7)
        self.patch(reader, "CHUNK_ROWS", 3)
        self.patch(reader, "CHUNK_BYTES", 100)
        store = await self.open()
        ops = [Op(f"/{n % 30:02d}", b"v" * (n * 7 % 150) if n % 11 else None) for n in range(1, 120)]
        last = max(outcome.revision for outcome in await gatherResults([store.commit(op) for op in ops]))
        everything = await store.list("/")
        self.assertGreater(len(everything.items), 20)
        self.assertEqual(everything.items, [await store.get(item.key) for item in everything.items])
        page = await store.list("/", limit=15)
        self.assertEqual((page.items, page.remaining), (everything.items[:15], len(everything.items) - 15))
        recorder = Recorder()
        live: dict[str, KeyValue] = {}
        await store.subscribe(0, recorder.deliver)
        self.assertEqual(recorder.revisions, list(range(2, last + 1)))
        for change in recorder.changes:
            held = live.pop(change.key, None)
            self.assertEqual(change.previous, held)
            if change.value is not None:
                created = held.create_revision if held else change.revision
                live[change.key] = KeyValue(change.key, change.value, change.revision, created)
        self.assertEqual([live[key] for key in sorted(live)], everything.items)


class CompactionTests(FileCase):
    """The timer, what is deleted, and what the log is cut to."""

    async def test_history_is_kept_one_interval(self) -> None:
        """Each interval the store forgets what was no longer current one interval before (reference STORE-4)."""
        store = await self.open(compaction_interval_s=300)
        await store.commit(Op("/a", b"1"))
        self.clock.advance(300)
        await store.commit(Op("/a", b"2"))
        await store.compact(0)
        self.assertIsNotNone(await store.get("/a", 2))
        self.clock.advance(300)
        await store.compact(0)
        self.assertIsNotNone(await store.get("/a", 2))
        self.clock.advance(300)
        await store.compact(0)
        await self.assertFailure(Deferred.fromCoroutine(store.get("/a", 2)), errors.Expired)
        self.assertIsNotNone(await store.get("/a", 3))

    async def test_history_is_bounded_between_intervals(self) -> None:
        """Renewals by many, of which an interval would keep too much, are forgotten earlier (reference STORE-4)."""
        store = await self.open(compaction_interval_s=300, history_bytes=100_000)
        for _ in range(20):
            await gatherResults([store.commit(Op(f"/{n}", b"v" * 240)) for n in range(50)])
        await store.compact(0)
        ((rows,),) = self.query("SELECT count(*) FROM history")
        self.assertLess(rows, 50 + 2 * 250)
        self.assertEqual(len((await store.list("/")).items), 50)

    async def test_nothing_superseded_stays_in_the_file(self) -> None:
        """After a compaction the file holds one row a live key, and the log is cut to nothing when idle."""
        store = await self.open()
        for round_ in range(5):
            await gatherResults([store.commit(Op(f"/{n}", b"%d" % round_)) for n in range(100)])
        await gatherResults([store.commit(Op(f"/{n}", None)) for n in range(50)])
        await store.compact(await store.revision())
        await store.stop()
        self.assertEqual(self.query("SELECT count(*) FROM history"), [(50,)])
        self.assertEqual(self.query("SELECT count(DISTINCT key) FROM history"), [(50,)])

    async def test_log_is_cut_back(self) -> None:
        """After a compaction the log is cut to nothing, once nobody has written for a while."""
        self.patch(writer, "IDLE_S", 0.02)
        store = await self.open()
        await gatherResults([store.commit(Op("/a", b"v" * 2000)) for _ in range(100)])
        await store.compact(await store.revision())
        log = Path(f"{self.path}-wal")
        while log.stat().st_size:
            await deferLater(reactor, 0.01)

    async def test_stop_during_a_timed_sweep_is_quiet(self) -> None:
        """A store that closes while the timer's compaction runs logs no failure."""
        store = await self.open(compaction_interval_s=300)
        for _ in range(8):
            await gatherResults([store.commit(Op("/a", b"v" * 2000)) for n in range(250)])
        self.clock.advance(300)
        await store.compact(0)
        self.clock.advance(300)
        await store.stop()
        self.assertEqual(self.flushLoggedErrors(), [])

    async def test_interrupted_sweep_goes_on(self) -> None:
        """A compaction that the process did not live to finish is finished after the next start."""
        store = await self.open()
        await gatherResults([store.commit(Op("/a", b"%d" % n)) for n in range(300)])
        await store.stop()
        connection = sqlite3.connect(self.path)
        connection.execute("UPDATE meta SET compacted = 300, swept = 64").connection.commit()
        connection.close()
        store = await self.open()
        await self.assertFailure(Deferred.fromCoroutine(store.get("/a", 299)), errors.Expired)
        await store.compact(0)
        await store.stop()
        self.assertEqual(self.query("SELECT min(rev) FROM history WHERE rev > 63"), [(300,)])

    async def test_writes_go_on_during_a_sweep(self) -> None:
        """A write during a long sweep is answered before the sweep's end."""
        store = await self.open()
        for _ in range(20):
            await gatherResults([store.commit(Op("/a", b"v" * 2000)) for n in range(250)])
        order: list[str] = []
        sweep = Deferred.fromCoroutine(store.compact(await store.revision()))
        sweep.addCallback(lambda _: order.append("sweep"))
        write = store.commit(Op("/b", b"")).addCallback(lambda _: order.append("write"))
        await gatherResults([sweep, write])
        self.assertEqual(order, ["write", "sweep"])


class LimitTests(FileCase):
    """Bounded queues, and a disk that has no more room."""

    async def test_full_queue_refuses(self) -> None:
        """Writes over the queue's cap fail with TooManyRequests at once; the queued ones are made."""
        store = await self.open(max_queued_ops=10)
        writes = [store.commit(Op(f"/{n}", b"")) for n in range(15)]
        for write in writes[10:]:
            self.failureResultOf(write, errors.TooManyRequests)
        self.assertEqual(len(await gatherResults(writes[:10])), 10)
        self.assertEqual((await store.commit(Op("/again", b""))).revision, 12)

    async def test_queued_bytes_are_bounded(self) -> None:
        """The cap counts bytes too, and is free again once they are written."""
        store = await self.open(max_queued_bytes=1000)
        first, second = store.commit(Op("/a", b"v" * 1000)), store.commit(Op("/b", b"v"))
        self.failureResultOf(second, errors.TooManyRequests)
        await first
        await store.commit(Op("/b", b"v"))

    async def test_full_disk_fails_the_batch_only(self) -> None:
        """Without room writes fail with InternalError and leave no trace; `check` fails until there is room."""
        store = await self.open(quota_bytes=1 << 20)
        await store.commit(Op("/small", b"1"))
        recorder = Recorder()
        subscription = await store.subscribe(2, recorder.deliver)
        for _ in range(2):
            await self.assertFailure(store.commit(Op("/small", b"v" * (2 << 20), 2)), errors.InternalError)
            await self.assertFailure(store.commit(Op("/big", b"v" * (2 << 20))), errors.InternalError)
        self.assertEqual(recorder.changes, [])
        self.assertEqual(await store.revision(), 2)
        self.assertIsNone(await store.get("/big"))
        self.assertEqual((await store.commit(Op("/small", b"2", 2))).revision, 3)
        await store.check()
        subscription.stop()
        self.assertEqual(recorder.changes, [Change(3, "/small", b"2", KeyValue("/small", b"1", 2, 2))])

    async def test_health_comes_back_without_a_write(self) -> None:
        """`check` itself tries a write after a failure: an idle store becomes healthy when the disk does."""
        store = await self.open(quota_bytes=1 << 20)
        for number in range(200):
            write = store.commit(Op(f"/{number:03d}", b"v" * 8000))
            if await write.addCallback(lambda outcome: 0).addErrback(lambda failure: 1):
                break
        await self.assertFailure(Deferred.fromCoroutine(store.check()), errors.InternalError)
        store._writer._connection = _Unlimited(store._writer._connection)  # type: ignore[assignment]
        await store.check()
        await store.commit(Op("/after", b"v" * 8000))

    async def test_silent_writer_is_unhealthy(self) -> None:
        """`check` gives up on a thread that does not answer (a disk that hangs)."""
        store = await self.open()
        self.patch(store._writer, "check", Deferred)
        checked = Deferred.fromCoroutine(store.check())
        self.clock.advance(6)
        self.failureResultOf(checked, errors.ServiceUnavailable)

    async def test_failing_subscriber_harms_nobody(self) -> None:
        """A subscriber that raises is logged; the others and the writer get what they are due."""
        store = await self.open()

        def broken(changes: object) -> None:
            raise ZeroDivisionError

        subscription = await store.subscribe(1, broken)
        recorder = Recorder()
        await store.subscribe(1, recorder.deliver)
        await store.commit(Op("/a", b""))
        subscription.stop()
        self.assertEqual(recorder.revisions, [2])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class _Unlimited:
    """Takes the page limit off a connection at its first use, in the thread that owns it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        self._connection.execute("PRAGMA max_page_count = 1000000")
        return getattr(self._connection, name)


class ModelTests(model.ModelRules, FileCase):
    """The store against a model, with restarts and compactions in between."""

    async def open_store(self, number: int) -> Store:
        """Return the store of a script, opened or reopened."""
        return await self.open(f"{self.path}-{number}")
