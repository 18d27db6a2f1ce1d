"""The store's tables: what is made, brought up to date, and refused."""

from __future__ import annotations

import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.sqlite import schema
from tests.storage.store_files import FORMAT_1, FORMAT_2


class PrepareTests(SynchronousTestCase):

    def setUp(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.connection.close)

    def prepared(self, vocabulary: str = "orch", **more: bool) -> str:
        return schema.prepare(self.connection, vocabulary, **more)

    def test_new(self) -> None:
        """An empty file becomes a store, which says for whom; a second time nothing is to be done."""
        self.assertEqual((self.prepared(), self.prepared()), ("", ""))
        self.assertEqual(schema.made_for(self.connection), "orch")

    def test_other_vocabulary(self) -> None:
        """A store of the other vocabulary is refused, and named, unless any will do."""
        self.prepared()
        self.assertIn("was made with --vocabulary orch", self.prepared("kubernetes"))
        self.assertEqual(self.prepared("kubernetes", any_vocabulary=True), "")
        self.assertEqual(schema.made_for(self.connection), "orch")

    def test_older_format(self) -> None:
        """A store of format 1 is brought up to date; all its rows are yet to be sealed."""
        self.connection.executescript(FORMAT_1)
        self.connection.execute("INSERT INTO history VALUES (7, '/a', 7, 0, 1, x'00')")
        self.assertEqual(self.prepared(), "")
        self.assertEqual(self.connection.execute("SELECT unsealed FROM meta").fetchone(), (7,))
        self.assertEqual(self.connection.execute("SELECT sum FROM history").fetchone(), (None,))
        self.assertEqual(self.connection.execute("PRAGMA user_version").fetchone(), (schema.FORMAT,))

    def test_format_without_ends(self) -> None:
        """A store of format 2, in which no value ends by itself, is brought up to date; its rows stay as they are."""
        self.connection.executescript(FORMAT_2)
        self.connection.execute("INSERT INTO history VALUES (7, '/a', 7, 0, 1, x'00', 5)")
        self.assertEqual(self.prepared(), "")
        self.assertEqual(self.connection.execute("SELECT rev, sum FROM history").fetchall(), [(7, 5)])
        self.assertEqual(self.connection.execute("SELECT count(*) FROM expiry").fetchone(), (0,))
        self.assertEqual(self.connection.execute("PRAGMA user_version").fetchone(), (schema.FORMAT,))

    def test_newer_format(self) -> None:
        """One of a later format is left alone."""
        self.prepared()
        self.connection.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
        self.assertIn(f"has format {schema.FORMAT + 1}", self.prepared())

    def test_without_marks(self) -> None:
        """One that does not say who made it, or how far it goes, is damaged."""
        for spoil in ("DELETE FROM meta", "UPDATE meta SET vocabulary = ''", "UPDATE meta SET swept = 'x'"):
            connection = sqlite3.connect(":memory:", isolation_level=None)
            self.addCleanup(connection.close)
            schema.prepare(connection, "orch")
            connection.execute(spoil)
            self.assertTrue(schema.prepare(connection, "orch").startswith("damaged: "), spoil)

    def test_database_of_others(self) -> None:
        """A database of another program is left as it is."""
        self.connection.execute("CREATE TABLE theirs (a)")
        self.assertNotEqual(self.prepared(), "")
        tables = [name for (name,) in self.connection.execute("SELECT name FROM sqlite_master")]
        self.assertEqual(tables, ["theirs"])
