"""Storage backend volatile: an embedded store that is forgotten when the server ends."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from orchtw.config.storage import StorageOptions
from orchtw.flags.flag import PATH, Flag
from orchtw.plugins import StoragePlugin
from orchtw.storage.sqlite.store import SqliteStore, in_folder
from orchtw.storage.store import StoreHost

FLAG = "volatile-storage-dir"


def make(host: StoreHost, values: Mapping[str, Any]) -> SqliteStore:
    """Return a store in a new folder below `--volatile-storage-dir`, by default the system's for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="orchtw-volatile-", dir=values[FLAG]))
    return in_folder(msgspec.structs.replace(host, folder=folder), StorageOptions())


VOLATILE = StoragePlugin(
    make=make,
    flags=(
        Flag(
            name=FLAG,
            kind=PATH,
            default=None,
            help="Folder for stores of the backend volatile, such as one in memory: /dev/shm.",
            section="Volatile storage",
        ),
    ),
)
