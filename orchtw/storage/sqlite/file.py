"""The store's file: its lock, opening, checks, and their errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import NoReturn

import attrs
from twisted.logger import Logger

from orchtw.errors import ConfigError
from orchtw.storage.sqlite import schema, verify
from orchtw.storage.sqlite.connection import connect
from orchtw.storage.sqlite.definitions import foreign
from orchtw.storage.sqlite.errors import RESTORE, is_damage, may_be_no_room, sentence
from orchtw.storage.sqlite.hold import Hold
from orchtw.storage.sqlite.rewrite import rewrite
from orchtw.storage.store import Translation

WAL_PAGES = 1000  # without a thread for checkpoints: at 8 MiB, pauses of ~10 ms; half as often doubles them
WAL_MOST_PAGES = 8000  # with one, the writer's own last resort
WAL_LIMIT_BYTES = 64 << 20
CHECKED_BYTES = 256 << 20  # a full check reads ~0.6 GiB/s; above this the start would be felt
REWRITTEN_BYTES = 64 << 20  # rewriting so much to make a file shrinkable takes about as long as a start
CACHE_KIB = 8 << 10
INCREMENTAL = 2


@attrs.define(slots=True, kw_only=True)
class StoreFile:
    """File of the store at `path`, of one vocabulary. `quota_bytes` 0 means no limit but the disk's.

    `alone`: there was no room for the index that connections share (`-shm`), so the only connection keeps it in
    memory. `translation` returns the translation from a given vocabulary; without it a store of another one is
    refused. With `erases` deleted content is overwritten. Unless it is `durable` nothing waits for the disk.
    """

    path: str
    vocabulary: str
    quota_bytes: int = 0
    translation: Callable[[str], Translation] | None = None
    erases: bool = False
    durable: bool = True
    alone: bool = False
    _hold: Hold | None = None
    _verified: bool = False
    _log = Logger()

    def open(self) -> sqlite3.Connection:
        """Lock, open or create, and check the file; the connection belongs to the calling thread.

        Needs no room on the disk if the file is there in the present format and of our vocabulary. The file stays
        ours until `release`. Raises ConfigError with one line when the file cannot be used.
        """
        try:
            return self._open_held()
        except OSError as exc:
            self.release()
            raise ConfigError(f"{self.path}: {exc.strerror}") from exc
        except sqlite3.Error as exc:
            why = self.why(exc)
            self.release()
            raise ConfigError(f"{self.path}: {why}") from exc
        except ConfigError:
            self.release()
            raise

    def reader(self) -> sqlite3.Connection:
        """Return a connection that cannot write, for the calling thread."""
        connection = connect(self.path)
        connection.execute("PRAGMA query_only = 1")
        return connection

    def checkpointer(self) -> sqlite3.Connection:
        """Return a connection that copies the log into the file, for the calling thread."""
        connection = connect(self.path, timeout_s=0.0)
        self._set_durability(connection)
        connection.execute("SELECT compacted FROM meta").fetchone()  # only now does it know that there is a log
        return connection

    def release(self) -> None:
        """Release the lock on the file; all connections must be closed."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None

    def missing(self) -> str:
        """Return which of the files is missing or has been replaced, in words, or ""; while open only."""
        return "" if self._hold is None else self._hold.missing()

    def file_bytes(self) -> int:
        """Return the size of the file itself; 0 once it is gone."""
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log, for the metric (it grows when a reader never ends)."""
        try:
            return os.stat(self._beside("-wal")).st_size
        except FileNotFoundError:
            return 0

    def why(self, error: sqlite3.Error) -> str:
        """Return error and remedy in one line, with the place of damage if known."""
        if not is_damage(error):
            return sentence(error)
        try:
            connection = connect(self.path)
            try:
                detail = verify.structure(connection)
            finally:
                connection.close()
        except sqlite3.Error:
            detail = ""
        return f"damaged ({detail}); {RESTORE}" if detail and detail != str(error) else sentence(error)

    def _open_held(self) -> sqlite3.Connection:
        if self._hold is None:
            self._make_file()
            self._hold = Hold(self.path)
        try:
            connection = self._connect()
        except sqlite3.OperationalError as exc:
            if not may_be_no_room(exc):
                raise
            connection = self._connect_alone(exc)
        self._hold.watch([self._beside("-wal")] if self.alone else [self._beside("-wal"), self._beside("-shm")])
        return connection

    def _connect_alone(self, reason: sqlite3.OperationalError) -> sqlite3.Connection:
        """Return a connection with the log's index in memory. Raises the first `reason` if that does not help
        either.
        """
        self.alone = True
        try:
            connection = self._connect()
        except sqlite3.Error:
            self.alone = False
            raise reason from None
        why = sentence(reason)
        self._log.error("{path}: {why}. Until a restart no other program can read it", path=self.path, why=why)
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = connect(self.path)
        try:
            if self.alone:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            rewritable = self.translation is not None
            # The definitions come first: whatever uses a table runs the triggers and views that are made for it.
            if schema.is_known(connection) and (why := foreign(connection)):
                self._refuse(f"is not an orchtw store: {why}; {RESTORE}")
            refusal = schema.prepare(connection, self.vocabulary, any_vocabulary=rewritable)
            if refusal:
                self._refuse(refusal)
            self._configure(connection)
            self._verify(connection)
            self._rewrite(connection)
            self._make_shrinkable(connection)
            self._fold(connection)
        except BaseException:
            connection.close()
            raise
        return connection

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

    def _configure(self, connection: sqlite3.Connection) -> None:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            self._refuse("its file system cannot share memory (no write-ahead log); use another --data-dir")
        self._set_durability(connection)
        # FAST overwrites deleted rows in pages that stay; ON also pages that become free: compaction 5 × slower.
        connection.execute(f"PRAGMA secure_delete = {'ON' if self.erases else 'FAST'}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES if self.alone else WAL_MOST_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        if self.quota_bytes:
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(1, self.quota_bytes // page_bytes)}")

    def _set_durability(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.durable else 'OFF'}")

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Check the whole file, once, while that takes little time; a large one is checked as it is read."""
        if self._verified or os.stat(self.path).st_size > CHECKED_BYTES:
            return
        detail = verify.structure(connection) or verify.mend_index(connection)
        if detail:
            self._refuse(f"damaged ({detail}); {RESTORE}")
        self._verified = True

    def _rewrite(self, connection: sqlite3.Connection) -> None:
        """Rewrite a store of another vocabulary. Raises ConfigError if that fails; the store then is as it was."""
        old = schema.made_for(connection)
        if old == self.vocabulary or self.translation is None:
            return
        try:
            count, unreadable = rewrite(connection, self.vocabulary, self.translation(old))
        except (sqlite3.Error, ConfigError) as exc:
            why = sentence(exc) if isinstance(exc, sqlite3.Error) else exc
            self._refuse(
                f"was made with --vocabulary {old} and could not be rewritten for {self.vocabulary}: {why};"
                f" it is as it was, and opens with --vocabulary {old}"
            )
        text = "the store was made with --vocabulary {old}: {count} objects have been rewritten for {new}"
        self._log.info(
            text + ("; {unreadable} of them cannot be read, as before" if unreadable else ""),
            old=old,
            new=self.vocabulary,
            count=count,
            unreadable=unreadable,
        )

    def _make_shrinkable(self, connection: sqlite3.Connection) -> None:
        """Rewrite an older version's file, if little of it is in use: only then can free pages be given back."""
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] == INCREMENTAL:
            return
        names = ("page_count", "freelist_count", "page_size")
        pages, free, page_bytes = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if (pages - free) * page_bytes > REWRITTEN_BYTES:
            return
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        try:
            connection.execute("VACUUM")
        except sqlite3.Error as exc:
            self._log.warn("{path} could not be shrunk: {why}", path=self.path, why=sentence(exc))

    def _fold(self, connection: sqlite3.Connection) -> None:
        """Fold the log into the file; on a full disk the log stays as it is."""
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as exc:
            if is_damage(exc):
                raise
            self._log.warn("{path}: failed to truncate the write-ahead log: {why}", path=self.path, why=sentence(exc))

    def _beside(self, suffix: str) -> str:
        """Return the path of a side file: SQLite keeps them beside the file itself, not beside a link to it."""
        return os.path.realpath(self.path) + suffix

    def _refuse(self, why: str) -> NoReturn:
        raise ConfigError(f"{self.path}: {why}")
