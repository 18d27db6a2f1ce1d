"""`orch-store check`: integrity and readability of all values, and statistics of the store (STORE-17)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from orchtw.commands.store.opening import Opening, is_sealed
from orchtw.commands.store.source import StoreSource
from orchtw.commands.store.values import StoredValues
from orchtw.logs.progress import Progress
from orchtw.storage.sqlite.check import findings
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.store import Damaged, KeyValue

MIB = 1 << 20


class Found(msgspec.Struct):
    """Result of a check: the number of objects by resource, and the problems of single objects.

    `closed` counts encrypted objects without a given key, `outdated` those that are stored in an older form.
    """

    objects: Counter[str] = msgspec.field(default_factory=Counter)
    wrong: list[str] = msgspec.field(default_factory=list)
    closed: int = 0
    outdated: int = 0


def wrong_with_file(path: Path) -> list[str]:
    """Return the problems of the file: its structure, the checksums of its rows, its index."""
    return list(findings(str(path)))


async def look(source: StoreSource, opening: Opening, values: StoredValues) -> Found:
    """Read and decode every live object."""
    found = Found()
    with Progress("checking") as progress:
        await _look(source, opening, values, found, progress)
    return found


async def _look(
    source: StoreSource, opening: Opening, values: StoredValues, found: Found, progress: Progress
) -> None:
    try:
        if progress.is_shown:
            progress.total = await source.count()
        async for item in source.live():
            progress.advance()
            found.objects[values.resource(item.key)] += 1
            if isinstance(item, Damaged):
                continue  # already reported by wrong_with_file
            try:
                await _look_at(item, opening, values, found)
            except ValueError as problem:
                found.wrong.append(f"{item.key} at {item.revision}: cannot be read: {problem}")
    except sqlite3.Error as error:
        found.wrong.append(sentence(error))


async def _look_at(item: KeyValue, opening: Opening, values: StoredValues, found: Found) -> None:
    if is_sealed(item.value) and not opening.given:
        found.closed += 1
        return
    opened = await opening.open(item.key, item.value)
    values.read(item.key, opened.value)
    found.outdated += opened.stale or not values.is_current(item.key, opened.value)


def file_summary(snapshot: Snapshot, found: Found) -> Iterator[str]:
    """Yield lines that summarise the store's file."""
    sizes = snapshot.sizes()
    yield (
        f"{snapshot.path}: vocabulary {snapshot.vocabulary}, revision {snapshot.revision}, history since "
        f"{snapshot.compacted}; {sizes.file / MIB:.1f} MiB, {sizes.free / MIB:.1f} MiB of them free, log of "
        f"{sizes.log / MIB:.1f} MiB"
    )
    yield f"{sum(found.objects.values())} objects, {sizes.states} states in the history"
    yield from summary(found)


def summary(found: Found) -> Iterator[str]:
    """Yield a line with the number of objects for each resource."""
    for resource, count in sorted(found.objects.items()):
        yield f"  {count:>8}  {resource}"
    if found.outdated:
        yield f"{found.outdated} are kept in an older form: orch-store migrate rewrites them"
    if found.closed:
        yield f"{found.closed} are encrypted and were not opened: --encryption-provider-config names the keys"
