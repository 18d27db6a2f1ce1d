"""`orch-store import`: fills an empty store from an export, atomically (STORE-20)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from orchtw.commands.store.lines import ExportHead, Item, read
from orchtw.commands.store.opening import Opening
from orchtw.commands.store.values import StoredValues
from orchtw.errors import ConfigError
from orchtw.logs.progress import Progress
from orchtw.naming.naming import Naming
from orchtw.pki.files import make_folder
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.load import Load

MAX_LINE_BYTES = 64 << 20


async def import_lines(path: Path, source: BinaryIO, vocabulary: str, sealing: Path | None, reactor: Any) -> int:
    """Fill the store at `path`, created if missing; returns the number of objects.

    The vocabulary is that of the export's head, else `vocabulary`. Raises ConfigError and leaves the store unchanged
    if a line is invalid.
    """
    head, items = lines_of(source, vocabulary)
    naming = Naming.of(head.vocabulary if head is not None else vocabulary)
    opening, values = Opening(sealing, reactor), StoredValues(naming)
    make_folder(path.parent)
    fresh = not path.exists()
    file = StoreFile(path=str(path), vocabulary=naming.vocabulary)
    connection = file.open()
    try:
        load = _load(path, connection, head)
        try:
            for number, item in items:
                await _put(load, number, item, opening, values)
            count = load.commit()
        except BaseException:
            load.undo()
            raise
        fresh = False
        return count
    finally:
        connection.close()
        if fresh:
            _remove(path)
        file.release()


def _load(path: Path, connection: Any, head: ExportHead | None) -> Load:
    try:
        return Load(connection, 0 if head is None else head.revision)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


async def _put(load: Load, number: int, item: Item, opening: Opening, values: StoredValues) -> None:
    value = await item_value(number, item, values, opening)
    try:
        load.put(item.key, value, item.expires)
    except (ValueError, ConfigError) as problem:
        raise ConfigError(f"line {number}: {item.key}: {problem}") from None


async def item_value(number: int, item: Item, values: StoredValues, opening: Opening) -> bytes:
    """Return the encoded and encrypted value of a line. Raises ConfigError, naming the line."""
    try:
        value = item.value if item.object is None else values.value(item.key, item.object)
        return await opening.seal(item.key, value)
    except (ValueError, ConfigError) as problem:
        raise ConfigError(f"line {number}: {item.key}: {problem}") from None


def lines_of(source: BinaryIO, vocabulary: str) -> tuple[ExportHead | None, Iterator[tuple[int, Item]]]:
    """Read the head, if there is one, and the items with their line numbers.

    Raises ConfigError if neither the head nor `vocabulary` gives the vocabulary, or they differ.
    """
    lines = _lines(source)
    first = next(lines, None)
    head = first[1] if first is not None and isinstance(first[1], ExportHead) else None
    if head is None and not vocabulary:
        raise ConfigError("the first line does not name the store's vocabulary; use --vocabulary")
    if head is not None and vocabulary not in ("", head.vocabulary):
        raise ConfigError(
            f"the export is of --vocabulary {head.vocabulary}; import it as such, and a server of another vocabulary "
            "rewrites the store"
        )
    items = _items(lines if head is not None or first is None else chain([first], lines))
    return head, _tracked(source, items)


def _tracked(source: BinaryIO, items: Iterable[tuple[int, Item]]) -> Iterator[tuple[int, Item]]:
    """Yield the items and show the progress: in bytes of a file, in lines of a pipe."""
    size = _size(source)
    with Progress("importing", size, unit="bytes" if size else "lines") as progress:
        for number, item in items:
            yield number, item
            progress.reach(source.tell() if size and progress.is_shown else number)


def _size(source: BinaryIO) -> int:
    """Return the size of a file in bytes; 0 of a pipe, which has none."""
    if not source.seekable():
        return 0
    here = source.tell()
    size = source.seek(0, os.SEEK_END)
    source.seek(here)
    return size


def _items(lines: Iterable[tuple[int, ExportHead | Item]]) -> Iterator[tuple[int, Item]]:
    for number, item in lines:
        if isinstance(item, ExportHead):
            raise ConfigError(f"line {number}: a second export begins here")
        yield number, item


def _lines(source: BinaryIO) -> Iterator[tuple[int, ExportHead | Item]]:
    number = 0
    while line := source.readline(MAX_LINE_BYTES):
        number += 1
        if not line.strip():
            continue
        try:
            yield number, read(line)
        except ValueError as problem:
            raise ConfigError(f"line {number}: {problem}") from None


def _remove(path: Path) -> None:
    """Remove a store that was created for a failed import."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
