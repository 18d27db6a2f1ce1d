"""Files of stores with something in them that no version of this program has put there (reference STORE-38)."""
# covers: orchtw.storage.sqlite.verify

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.storage.sqlite import schema
from orchtw.storage.sqlite.check import findings
from orchtw.storage.sqlite.connection import connect
from orchtw.storage.sqlite.definitions import foreign
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.file_copy import copy_rows
from orchtw.storage.sqlite.load import Load
from orchtw.storage.sqlite.snapshot import Snapshot
from tests.storage.store_files import FORMAT_1, FORMAT_2

CRAFTED = {
    "has a trigger 'eats'": "CREATE TRIGGER eats AFTER INSERT ON history BEGIN DELETE FROM history; END",
    "has a view 'v'": "CREATE VIEW v AS SELECT * FROM history",
    "has a table 'more'": "CREATE TABLE more (a)",
    "has a index 'i'": "CREATE INDEX i ON history (value)",
    "its tables are not those of a store": "DROP INDEX history_by_key",
    "its table 'expiry' is not that of a store": (
        "DROP TABLE expiry; CREATE TABLE expiry (rev INTEGER PRIMARY KEY, at, sum INTEGER DEFAULT (random()))"
    ),
    "its table 'history' is not that of a store": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET "
        "sql = replace(sql, 'INTEGER PRIMARY', 'INTEGERPRIMARY') WHERE name = 'history'"
    ),
}


INJECTED = "orch'', 0, 0, NULL, 0);\nCREATE TABLE evil (a);\nINSERT INTO evil VALUES (''x"


class ForeignCase(SynchronousTestCase):
    """A sound store with two keys."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        with closing(connect(self.path)) as connection:
            self.assertEqual(schema.prepare(connection, "orch"), "")
            load = Load(connection, 0)
            load.put("/registry/a", b"1")
            load.put("/registry/b", b"2", 1 << 40)
            load.commit()

    def change(self, script: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(script)


class DefinitionTests(ForeignCase):
    def test_own(self) -> None:
        """A new store, and those of older formats before and after they were brought up to date, are our own."""
        for script in (FORMAT_1, FORMAT_2):
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as older:
                older.executescript(script)
                self.assertEqual(foreign(older), "")
                self.assertEqual(schema.prepare(older, "orch"), "")
                self.assertEqual(foreign(older), "")
        self.assertEqual(list(findings(str(self.path))), [])

    def test_crafted(self) -> None:
        """Whatever else a file defines refuses it, in a server and in every command (reference STORE-38)."""
        sound = self.path.read_bytes()
        for why, script in CRAFTED.items():
            self.path.write_bytes(sound)
            self.change(script)
            self.refused(why)

    def test_encoding(self) -> None:
        """A file whose texts are encoded in another way is refused, however right its tables are."""
        self.path.unlink()
        self.change("PRAGMA encoding = 'UTF-16le'; CREATE TABLE meta (a)")
        self.change(f"PRAGMA application_id = {schema.APPLICATION_ID}; PRAGMA user_version = 3")
        self.refused("its text encoding is UTF-16le")

    def refused(self, why: str) -> None:
        """A server and the commands refuse the file for that reason, and no copy is begun."""
        self.assertIn(why, next(findings(str(self.path))))
        target = Path(self.mktemp())
        for use in (
            StoreFile(path=str(self.path), vocabulary="orch").open,
            lambda: Snapshot(self.path),
            lambda: copy_rows(self.path, target),
        ):
            self.assertIn(f"is not an orchtw store: {why}", str(self.assertRaises(ConfigError, use)))
        self.assertFalse(target.exists())

    def test_later_format(self) -> None:
        """A file of a later version is said to be that, whatever it defines."""
        self.change(f"CREATE TABLE more (a); PRAGMA user_version = {schema.FORMAT + 1}")
        error = self.assertRaises(ConfigError, StoreFile(path=str(self.path), vocabulary="orch").open)
        self.assertIn("has format", str(error))


class RowTests(ForeignCase):
    def test_rows(self) -> None:
        """Rows that no server writes are named, whatever their checksums say (reference STORE-38)."""
        row = (
            "INSERT INTO history SELECT {rev}, {key}, {created}, {prev}, size, value, sum "
            "FROM history WHERE rev = 2"
        )
        for change in (
            {"rev": -5},
            {"rev": 9, "created": 10},
            {"rev": 9, "prev": 9},
            {"rev": 9, "prev": -1},
            {"rev": 9, "key": "'no slash'"},
            {"rev": 9, "key": "x'2f61'"},
            {"rev": 1 << 62 | 1},
        ):
            sound = self.path.read_bytes()
            self.change(row.format(**{"key": "key", "created": "created", "prev": "prev", **change}))
            self.assertIn("damaged: 1 states that no server writes", list(findings(str(self.path))), str(change))
            self.path.write_bytes(sound)

    def test_head(self) -> None:
        """A file that does not say how far it goes is damaged, in one finding."""
        for script in (
            "DELETE FROM meta",
            "UPDATE meta SET compacted = -1",
            "UPDATE meta SET swept = 'x'",
            "UPDATE meta SET vocabulary = x'00'",
            "UPDATE meta SET vocabulary = 'klingon'",
            f"UPDATE meta SET vocabulary = '{INJECTED}'",
        ):
            sound = self.path.read_bytes()
            self.change(script)
            self.assertIn("it does not record its vocabulary and revisions", "".join(findings(str(self.path))))
            self.path.write_bytes(sound)


class CopyTests(ForeignCase):
    def test_rows_are_copied(self) -> None:
        """A restored store has the rows of the other one, in tables of its own (reference STORE-18, STORE-38)."""
        target = Path(self.mktemp())
        copy_rows(self.path, target)
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o600)
        contents = []
        for path in (self.path, target):
            with closing(connect(path, read_only=True)) as connection:
                tables = ("meta", "history", "expiry")
                contents.append([connection.execute(f"SELECT * FROM {each}").fetchall() for each in tables])
                self.assertEqual(foreign(connection), "")
        self.assertEqual(*contents)
        StoreFile(path=str(target), vocabulary="orch").open().close()

    def test_values_stay_values(self) -> None:
        """Nothing that a copied file says about itself is run, even if its head has not been looked at before."""
        self.change(f"UPDATE meta SET vocabulary = '{INJECTED}'")
        target = Path(self.mktemp())
        copy_rows(self.path, target)
        with closing(connect(target, read_only=True)) as connection:
            self.assertEqual(foreign(connection), "")

    def test_readers_leave_nothing(self) -> None:
        """A reader takes the side files away that it has made, and no others (reference STORE-38)."""
        folder = self.path.parent
        self.change("PRAGMA journal_mode = WAL")
        before = set(os.listdir(folder))
        with closing(Snapshot(self.path)) as snapshot:
            self.assertEqual(len(list(snapshot.live())), 2)
        self.assertEqual(set(os.listdir(folder)), before)
        with closing(sqlite3.connect(self.path)) as server:
            server.execute("SELECT count(*) FROM meta").fetchone()
            with closing(Snapshot(self.path)):
                pass
            self.assertTrue(os.path.exists(f"{self.path}-shm"))

    def test_revisions(self) -> None:
        """A store goes on from no revision that would leave no room for more."""
        with closing(connect(":memory:")) as connection:
            schema.prepare(connection, "orch")
            for after in (-1, 1 << 62, (1 << 63) - 2):
                error = self.assertRaises(ConfigError, Load, connection, after)
                self.assertEqual(str(error), f"{after} is not a revision that a store can continue from")
