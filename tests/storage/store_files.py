"""Base of tests of store files: files to open, to inspect and to damage."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from orchtw import errors
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Op

reactor: Any = installed_reactor

FORMAT_1 = """
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), vocabulary TEXT NOT NULL,
    compacted INTEGER NOT NULL, swept INTEGER NOT NULL, probe BLOB
);
CREATE TABLE history (
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL,
    size INTEGER NOT NULL, value BLOB
);
CREATE INDEX history_by_key ON history (key, rev, created, size);
INSERT INTO meta VALUES (1, 'orch', 0, 0, NULL);
PRAGMA application_id = 1869767528;
PRAGMA user_version = 1;
"""

FORMAT_2 = """
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), vocabulary TEXT NOT NULL,
    compacted INTEGER NOT NULL, swept INTEGER NOT NULL, probe BLOB, unsealed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE history (
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL,
    size INTEGER NOT NULL, value BLOB, sum INTEGER
);
CREATE INDEX history_by_key ON history (key, rev, created, size);
INSERT INTO meta VALUES (1, 'orch', 0, 0, NULL, 0);
PRAGMA application_id = 1869767528;
PRAGMA user_version = 2;
"""


class FileCase(TestCase):
    """A folder for store files, and stores that are stopped at the end."""

    timeout = 180

    def setUp(self) -> None:
        """Choose the path of the file."""
        folder = os.path.abspath(self.mktemp())
        os.mkdir(folder)
        self.path = os.path.join(folder, "store.db")
        self.clock = Clock()

    async def open(self, path: str = "", vocabulary: str = "orch", **options: Any) -> SqliteStore:
        """Return a started store."""
        store = SqliteStore(path or self.path, vocabulary, reactor=reactor, clock=self.clock, **options)
        await store.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(store.stop()))
        return store

    async def filled(self, values: dict[str, bytes]) -> None:
        """Make a store with these values, and close it."""
        store = await self.open()
        await gatherResults([store.commit(Op(key, value)) for key, value in values.items()])
        await store.stop()

    async def refusal(self, path: str = "", vocabulary: str = "orch") -> str:
        """The one line with which the start is refused."""
        failure = await self.assertFailure(Deferred.fromCoroutine(self.open(path, vocabulary)), errors.ConfigError)
        assert isinstance(failure, errors.ConfigError)
        self.assertEqual(len(failure.problems), 1)
        self.assertNotIn("\n", str(failure))
        return str(failure)

    def overwrite(self, offset: int, data: bytes) -> None:
        """Write `data` into the closed file, which is made if need be."""
        file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            os.pwrite(file, data, offset)
        finally:
            os.close(file)

    def query(self, sql: str, *parameters: object) -> list[Any]:
        """Look into the closed file, or change it."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            return connection.execute(sql, parameters).fetchall()
        finally:
            connection.close()

    def make_format_1(self, rows: list[tuple[int, str, int, int, bytes | None]]) -> None:
        """A store as format 1 had it; rows are (revision, key, created, previous, value)."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.executescript(f"PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; {FORMAT_1}")
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)",
            [(rev, key, created, prev, len(value or b""), value) for rev, key, created, prev, value in rows],
        )
        connection.execute("COMMIT")
        connection.close()


class Capitals:
    """A translation that a test can see: names below a prefix, and values, in capitals; b"?" is not a value."""

    def key(self, key: str) -> str:
        """The last part in capitals."""
        head, slash, name = key.rpartition("/")
        return head + slash + name.upper()

    def value(self, key: str, value: bytes) -> bytes:
        """The value in capitals."""
        if value == b"?":
            raise ValueError("no value")
        return value.upper()
