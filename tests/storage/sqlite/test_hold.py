# mypy: disallow-untyped-calls=False
"""Ownership and presence of a store's file: locks on identities, files removed from under it."""

from __future__ import annotations

import fcntl
import os
import sys
import threading

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.internet.utils import getProcessOutput
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from orchtw import errors
from orchtw.storage.sqlite import writer
from orchtw.storage.sqlite.hold import Hold
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.sqlite.writer import ALIVE_S, Errand
from orchtw.storage.store import Op
from orchtw.testing.process import environment
from tests.storage.store_files import FileCase, reactor

LOOK_S = 0.01


class HoldTests(SynchronousTestCase):
    """One file, one holder, under whatever name."""

    def setUp(self) -> None:
        """Create an empty file in a folder of its own."""
        folder = os.path.abspath(self.mktemp())
        os.mkdir(folder)
        self.path = os.path.join(folder, "file")
        with open(self.path, "w"):
            pass

    def test_other_names_of_the_file(self) -> None:
        """A symbolic link, a hard link and a link to the folder are the file that is held."""
        hold = Hold(self.path)
        folder = os.path.dirname(self.path)
        os.symlink(self.path, f"{self.path}-symbolic")
        os.link(self.path, f"{self.path}-hard")
        os.symlink(folder, f"{folder}-other")
        for name in (f"{self.path}-symbolic", f"{self.path}-hard", f"{folder}-other/file"):
            self.assertIn("in use by another process", str(self.assertRaises(errors.ConfigError, Hold, name)))
        hold.release()
        Hold(f"{self.path}-hard").release()

    def test_lock_of_another_process(self) -> None:
        """A lock that somebody else has on the file, or on the side file of format 1, refuses."""
        for name in (self.path, f"{self.path}.lock"):
            with open(name, "a") as other:
                fcntl.flock(other, fcntl.LOCK_EX)
                refused = self.assertRaises(errors.ConfigError, Hold, self.path)
                self.assertIn("in use by another process", str(refused))
        Hold(self.path).release()

    def test_missing(self) -> None:
        """A watched file that is removed or replaced is named; put back, it is there again."""
        side = f"{self.path}-wal"
        with open(side, "w"):
            pass
        hold = Hold(self.path)
        hold.watch([side])
        self.assertEqual(hold.missing(), "")
        os.rename(side, f"{side}-moved")
        self.assertEqual(hold.missing(), f"{side} has been removed or moved")
        with open(side, "w"):
            pass
        self.assertEqual(hold.missing(), f"{side} has been replaced by another file")
        os.rename(f"{side}-moved", side)
        self.assertEqual(hold.missing(), "")
        folder = os.path.dirname(self.path)
        os.rename(folder, f"{folder}-moved")
        self.assertEqual(hold.missing(), f"{self.path} has been removed or moved")
        hold.release()


class ClaimTests(FileCase):
    """From the probe to the end."""

    async def test_probe_keeps_the_file(self) -> None:
        """A probed store is locked, also before its start; `stop` without a start releases it."""
        store = SqliteStore(self.path, reactor=reactor, clock=self.clock)
        store.probe()
        self.assertIn("in use by another process", await self.refusal())
        await store.stop()
        await self.open()

    async def test_probe_lasts_through_a_fork(self) -> None:
        """A store claimed before going to the background is the child's, which folds the log at its end."""
        command = ["-m", "tests.storage.sqlite.fork_child", self.path]
        output = await getProcessOutput(sys.executable, command, environment(), errortoo=True)
        self.assertEqual(output.decode(), "taken store.db")

    async def test_refused_store_touches_nothing(self) -> None:
        """A refused server leaves every file of the folder as it was, with SQLite's locks."""
        store = await self.open()
        await store.commit(Op("/a", b"v"))
        folder = os.path.dirname(self.path)
        before = {entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size) for entry in os.scandir(folder)}
        await self.refusal()
        self.assertEqual(
            {entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size) for entry in os.scandir(folder)}, before
        )
        if os.path.exists("/proc/locks"):
            self.assertTrue(has_posix_lock(self.path))


def has_posix_lock(path: str) -> bool:
    """Report whether this process has the lock that every open connection has."""
    inode = os.stat(path).st_ino
    with open("/proc/locks") as table:
        lines = [line.split() for line in table]
    ours = [line for line in lines if line[1] == "POSIX" and line[4] == str(os.getpid())]
    return any(line[5].endswith(f":{inode}") and line[3] == "READ" for line in ours)


class RemovedFilesTests(FileCase):
    """Files that are removed, moved or replaced while the store is open."""

    def setUp(self) -> None:
        """Look often, and remember how often and what the log says."""
        super().setUp()
        self.patch(writer, "LOOK_S", LOOK_S)
        self.looks = 0
        missing = Hold.missing

        def counted(hold: Hold) -> str:
            self.looks += 1
            return missing(hold)

        self.patch(Hold, "missing", counted)
        self.logged: list[str] = []
        logged = self.logged

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            if "writes are refused" in str(event.get("refusal", "")):
                logged.append(event["why"])

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)

    async def until_missing(self, store: SqliteStore) -> str:
        """Wait until the store knows; what it says."""
        while not store._writer.missing:
            await deferLater(reactor, LOOK_S, lambda: None)
        failure = await self.assertFailure(store.commit(Op("/late", b"v")), errors.InternalError)
        for check in (store.check, store.alive):
            await self.assertFailure(Deferred.fromCoroutine(check()), errors.InternalError)
        return str(failure)

    async def test_removed_file(self) -> None:
        """Without its file the store refuses writes, is neither ready nor alive, is read, and says so once."""
        store = await self.open(readers=1)
        await store.commit(Op("/a", b"v"))
        await store.get("/a")
        os.unlink(self.path)
        refusal = f"{self.path} has been removed or moved: writes are refused"
        self.assertIn(refusal, await self.until_missing(store))
        kept = await store.get("/a")
        self.assertEqual(kept and kept.value, b"v")
        before = self.looks
        while self.looks < before + 3:
            await deferLater(reactor, LOOK_S, lambda: None)
        self.assertEqual(self.logged, [f"{self.path} has been removed or moved"])

    async def test_file_put_back(self) -> None:
        """When the very file is in its place again, writes are taken again, and nothing is lost."""
        store = await self.open()
        await store.commit(Op("/a", b"v"))
        os.rename(self.path, f"{self.path}-moved")
        await self.until_missing(store)
        os.rename(f"{self.path}-moved", self.path)
        while store._writer.missing:
            await deferLater(reactor, LOOK_S, lambda: None)
        await store.commit(Op("/b", b"v"))
        await store.alive()
        await store.stop()
        self.assertEqual(self.query("SELECT key FROM history"), [("/a",), ("/b",)])

    async def test_busy_thread(self) -> None:
        """A thread that has just had a turn is alive while it does something else; later it must answer."""
        store = await self.open()
        await store.commit(Op("/a", b"v"))
        gate = threading.Event()
        self.addCleanup(gate.set)
        store._writer._queue.put(Errand(gate.wait, None))
        await store.alive()
        store._writer._turned_at -= ALIVE_S
        asked = Deferred.fromCoroutine(store.alive())
        self.assertFalse(asked.called)
        gate.set()
        await asked

    async def test_removed_log(self) -> None:
        """A write-ahead log that is removed costs nothing that was acknowledged: its content goes into the file."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"/{number}", b"v")) for number in range(50)])
        store._writer._checkpoints.wait()  # a connection that its thread opens later would make another log
        os.unlink(f"{self.path}-wal")
        self.assertIn(f"{self.path}-wal has been removed or moved", await self.until_missing(store))
        copy = f"{self.path}-copy"
        with open(self.path, "rb") as source, open(copy, "wb") as target:
            target.write(source.read())
        self.path = copy
        self.assertEqual(self.query("SELECT count(*) FROM history"), [(50,)])

    async def test_replaced_folder(self) -> None:
        """A restored backup in the place of the folder is another file, and is left alone at the stop."""
        store = await self.open()
        await store.commit(Op("/a", b"v"))
        folder = os.path.dirname(self.path)
        os.rename(folder, f"{folder}-moved")
        os.mkdir(folder)
        for suffix in ("", "-wal"):
            with open(self.path + suffix, "w") as other:
                other.write("somebody else's")
        self.assertIn("has been replaced by another file", await self.until_missing(store))
        await store.stop()
        for suffix in ("", "-wal"):
            with open(self.path + suffix) as other:
                self.assertEqual(other.read(), "somebody else's")
