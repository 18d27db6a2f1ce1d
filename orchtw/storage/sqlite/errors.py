"""Texts of SQLite errors for operators: what is wrong, and the remedy.

A full disk, a lock and a damaged page need different remedies; "restore a backup" is right for the last only.
"""

from __future__ import annotations

import sqlite3
from typing import Final

PRIMARY: Final = 0xFF
"""Mask of the primary part of an extended result code (SQLite, "Result Codes")."""

RESTORE: Final = "restore a backup, or use another --data-dir"

_EXTENDED: Final = {
    sqlite3.SQLITE_IOERR_READ: "the disk cannot be read (SQLITE_IOERR_READ); look for its errors in the system's log",
    sqlite3.SQLITE_IOERR_SHMSIZE: "the disk is full, or a quota is reached: there is no room for the store's -shm"
    " file; make room",
    sqlite3.SQLITE_IOERR_NOMEM: "out of memory; give the server more",
}
_PLAIN: Final = {
    sqlite3.SQLITE_FULL: "the disk is full, or a quota is reached; make room",
    sqlite3.SQLITE_READONLY: "the store is read-only for this user or on this file system ({name}); let the server"
    " write to the file and its folder",
    sqlite3.SQLITE_IOERR: "the disk reports an I/O error ({name}); look for a quota, a limit on the size of files,"
    " and errors in the system's log",
    sqlite3.SQLITE_BUSY: "the store is locked by another program, such as a shell or a backup; end that one",
    sqlite3.SQLITE_LOCKED: "the store is locked by another program, such as a shell or a backup; end that one",
    sqlite3.SQLITE_PROTOCOL: "the store is locked by another program, such as a shell or a backup; end that one",
    sqlite3.SQLITE_CANTOPEN: "the file, or its -wal or -shm beside it, cannot be opened or made ({name}); look at the"
    " folder's permissions and the room on the disk",
    sqlite3.SQLITE_PERM: "this user may not use the file; look at its permissions",
    sqlite3.SQLITE_AUTH: "this user may not use the file; look at its permissions",
    sqlite3.SQLITE_NOMEM: "out of memory; give the server more",
    sqlite3.SQLITE_NOLFS: "the file system does not support files of that size; use another one",
    sqlite3.SQLITE_NOTADB: f"damaged or not a store ({{text}}); {RESTORE}",
    sqlite3.SQLITE_CORRUPT: f"damaged ({{text}}); {RESTORE}",
}
_NO_ROOM: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})


def sentence(error: sqlite3.Error) -> str:
    """Return error and remedy in one line; an error without a code of its own as SQLite words it."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    text = _EXTENDED.get(code) or _PLAIN.get(code & PRIMARY) or "SQLite reports: {text}"
    return text.format(name=getattr(error, "sqlite_errorname", ""), text=" ".join(str(error).split()))


def is_damage(error: sqlite3.Error) -> bool:
    """Report whether the file itself is damaged, rather than its surroundings."""
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def may_be_no_room(error: sqlite3.Error) -> bool:
    """Report whether a full disk can be the reason: SQLite says FULL only for writes, not for files it makes."""
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY in _NO_ROOM
