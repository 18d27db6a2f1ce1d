"""`orch-store backup` and `orch-store restore` (STORE-18)."""

from __future__ import annotations

from pathlib import Path

from orchtw.commands.store.check import wrong_with_file
from orchtw.errors import ConfigError
from orchtw.pki.files import make_folder
from orchtw.storage.sqlite.file_copy import copy_rows, copy_store, refuse_existing
from orchtw.storage.sqlite.snapshot import open_readable


def backup(store: Path, target: Path) -> int:
    """Copy a store that a server may be using; returns the copy's size in bytes. Raises ConfigError."""
    return copy_store(store, target)


def restore(source: Path, store: Path) -> int:
    """Check a backup and copy it to `store`, which must not exist; returns its size in bytes. Raises ConfigError."""
    refuse_existing(store)
    open_readable(source).close()
    wrong = wrong_with_file(source)
    if wrong:
        more = f" (and {len(wrong) - 1} more; see orch-store check)" if len(wrong) > 1 else ""
        raise ConfigError(f"{source}: is not restored: {wrong[0]}{more}")
    make_folder(store.parent)
    return copy_rows(source, store)
