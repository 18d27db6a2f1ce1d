"""The store's file: its tables, how it is created, recognised, locked and opened.

One `history` row per committed write, by revision; `history_by_key` finds a key's rows without touching
values. A row names the one it replaced (`prev`), so compaction looks at rows written since the last one only.
A tombstone is a row with `created` 0. `meta` has one row: who made the file and how far it is compacted.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from typing import NoReturn

import attrs

from orchtw.errors import ConfigError

APPLICATION_ID = 0x6F726368  # "orch" in the file's header: tells our files from other programs'
FORMAT = 1
PAGE_BYTES = 8192  # a 6 KiB value fits in one; 16 KiB reads no faster, and each scattered index write costs a page
WAL_PAGES = 1000  # checkpoint at 8 MiB: pauses of ~10 ms; half as often saves 5 % CPU and doubles the pause
WAL_LIMIT_BYTES = 64 << 20
CHECKED_BYTES = 64 << 20  # a full check reads ~0.5 GiB/s; above this the start would be felt
CACHE_KIB = 8 << 10

SCHEMA = """
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), vocabulary TEXT NOT NULL,
    compacted INTEGER NOT NULL, swept INTEGER NOT NULL, probe BLOB
);
CREATE TABLE history (
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL,
    size INTEGER NOT NULL, value BLOB
);
CREATE INDEX history_by_key ON history (key, rev, created, size);
"""

HEAD = "SELECT compacted, max(1, compacted, ifnull((SELECT max(rev) FROM history), 0)) AS head FROM meta"


@attrs.define(slots=True, kw_only=True)
class StoreFile:
    """Where the store is and what it must say of itself. `quota_bytes` 0 means no limit but the disk's."""

    path: str
    vocabulary: str
    quota_bytes: int = 0
    _lock_fd: int = -1

    def open(self) -> sqlite3.Connection:
        """Lock, open or create, and check the file; the connection belongs to the calling thread.

        Raises ConfigError with one line when the file cannot be used.
        """
        try:
            return self._open_locked()
        except OSError as exc:
            self.unlock()
            raise ConfigError(f"{self.path}: {exc.strerror}") from exc
        except sqlite3.Error as exc:
            self.unlock()
            raise ConfigError(
                f"{self.path}: damaged or not a store ({exc}); restore a backup, or use another --data-dir"
            ) from exc
        except ConfigError:
            self.unlock()
            raise

    def reader(self) -> sqlite3.Connection:
        """A connection that cannot write, for the calling thread."""
        connection = sqlite3.connect(self.path, timeout=5.0, isolation_level=None)
        connection.execute("PRAGMA query_only = 1")
        return connection

    def unlock(self) -> None:
        """Let another process have the file."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def wal_bytes(self) -> int:
        """The size of the write-ahead log, for the metric (it grows when a reader never ends)."""
        try:
            return os.stat(self.path + "-wal").st_size
        except FileNotFoundError:
            return 0

    def _open_locked(self) -> sqlite3.Connection:
        self._lock()
        self._make_file()
        connection = sqlite3.connect(self.path, timeout=5.0, isolation_level=None, cached_statements=256)
        try:
            self._recognise(connection)
            self._configure(connection)
            self._verify(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self) -> None:
        """Take the side file's lock: SQLite's own would also keep our readers out. kill -9 frees it."""
        self._lock_fd = os.open(self.path + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise ConfigError(
                f"{self.path}: in use by another process; stop that one, or use another --data-dir"
            ) from exc

    def _make_file(self) -> None:
        """Create the file for the owner's eyes only; SQLite's side files take over its mode."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return
        folder = os.open(os.path.dirname(self.path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _recognise(self, connection: sqlite3.Connection) -> None:
        """Create the tables in an empty file; refuse, untouched, a file that is not ours."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        if application == APPLICATION_ID:
            self._check_identity(connection)
        elif application or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._refuse("is another program's database; use another --data-dir")
        else:
            self._create(connection)

    def _check_identity(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT:
            self._refuse(f"has format {version}, this version reads {FORMAT}; use another --data-dir")
        (vocabulary,) = connection.execute("SELECT vocabulary FROM meta").fetchone() or ("",)
        if not vocabulary:
            self._refuse("damaged: it does not say who made it; restore a backup, or use another --data-dir")
        if vocabulary != self.vocabulary:
            self._refuse(f"was made with --vocabulary {vocabulary}; start with that, or use another --data-dir")

    def _create(self, connection: sqlite3.Connection) -> None:
        """All or nothing: the header's marks are part of the transaction that makes the tables."""
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES (1, ?, 0, 0, NULL)", (self.vocabulary,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")

    def _configure(self, connection: sqlite3.Connection) -> None:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            self._refuse("its file system cannot share memory (no write-ahead log); use another --data-dir")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = FAST")  # some builds zero every freed page: compaction 5 × slower
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        if self.quota_bytes:
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(1, self.quota_bytes // page_bytes)}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Check the whole file while that takes no noticeable time; a large one is checked as it is read."""
        if os.stat(self.path).st_size > CHECKED_BYTES:
            return
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            detail = " ".join(str(verdict).split())
            self._refuse(f"damaged ({detail}); restore a backup, or use another --data-dir")

    def _refuse(self, why: str) -> NoReturn:
        raise ConfigError(f"{self.path}: {why}")
