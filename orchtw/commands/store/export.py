"""`orch-store export`: a consistent snapshot as one line of JSON per object, even while a server runs (STORE-20)."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from orchtw.commands.store.lines import ExportHead, Item
from orchtw.commands.store.opening import Opening
from orchtw.commands.store.source import StoreSource
from orchtw.commands.store.values import StoredValues
from orchtw.logs.progress import Progress
from orchtw.storage.store import Damaged


async def export(
    source: StoreSource, opening: Opening, values: StoredValues, output: BinaryIO, complain: Callable[[str], None]
) -> int:
    """Write all lines; report unreadable keys to `complain` and return their number."""
    with Progress("exporting", hidden=output.isatty()) as progress:
        if progress.is_shown:
            progress.total = await source.count()
        return await _export(source, opening, values, output, complain, progress)


async def _export(
    source: StoreSource,
    opening: Opening,
    values: StoredValues,
    output: BinaryIO,
    complain: Callable[[str], None],
    progress: Progress,
) -> int:
    ends = await source.ends()
    output.write(ExportHead(source.vocabulary, source.revision).line() + b"\n")
    failed = 0
    async for item in source.live():
        progress.advance()
        try:
            if isinstance(item, Damaged):
                raise ValueError("its checksum is wrong")
            plain = (await opening.open(item.key, item.value)).value
            obj = values.read(item.key, plain)
        except ValueError as problem:
            failed += 1
            complain(f"{item.key} at {item.revision}: {problem}")
            continue
        expires = ends.get(item.revision, 0)
        value = b"" if obj is not None else plain
        line = Item(key=item.key, revision=item.revision, expires=expires, object=obj, value=value)
        output.write(line.line() + b"\n")
    output.flush()
    return failed
