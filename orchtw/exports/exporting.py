"""Making of an export: the objects at a revision, and the writes since then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from orchtw.exports import export_file
from orchtw.exports.client import Params, RecordReader
from orchtw.wire.objects import Object


async def export_lines(
    reader: RecordReader, since: int | None, params: Params, complain: Callable[[str], None]
) -> AsyncIterator[Object]:
    """Yield the values of an export's lines, the header first. It begins at a revision, None: with the record.

    `params` select objects. Writes whose objects the server can no longer read are left out with a complaint.
    """
    begin = await _begin(reader) if since is None else since
    yield export_file.header(begin)
    async for state in reader.states([*params, ("revision", str(begin))]):
        yield {"type": export_file.EXISTING, **state}
    async for record in reader.records([*params, ("since", str(begin)), ("objects", "1")]):
        if "unreadable" in record:
            complain(f"revision {record['revision']} is left out: {record['unreadable']}")
        else:
            yield record


async def _begin(reader: RecordReader) -> int:
    """Return the revision before the first record, 0 without any. A fault is recorded at the revision before it."""
    async for record in reader.records(()):
        revision: int = record["revision"]
        return revision if record["type"] == export_file.FAULT else revision - 1
    return 0
