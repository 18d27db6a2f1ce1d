"""Decryption and encryption of stored values with the keys of `--encryption-provider-config`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from orchtw.assembly.encryption import NOTHING, sealing
from orchtw.plugins.entry_points import installed
from orchtw.storage.encryption.provider import MARK
from orchtw.storage.encryption.store import with_keys
from orchtw.storage.encryption.transformers import Opened, Transformers


class Opening:
    """Transformers of the encryption configuration at `path`, if given. Raises ConfigError for an invalid file."""

    def __init__(self, path: Path | None, reactor: Any) -> None:
        self.given = path is not None
        self.transformers: Transformers = NOTHING
        if path is not None:
            self.transformers = sealing(path, reactor, installed()).transformers

    async def open(self, key: str, value: bytes) -> Opened:
        """Decrypt the value of a key. Raises Unreadable, a ValueError."""
        return await with_keys(partial(self.transformers.of(key).open, value, key.encode()))

    async def seal(self, key: str, value: bytes) -> bytes:
        """Encrypt the value of a key. Raises Unreadable, a ValueError."""
        return await with_keys(partial(self.transformers.of(key).seal, value, key.encode()))


def is_sealed(value: bytes) -> bool:
    """Report whether a value is encrypted."""
    return value.startswith(MARK)
