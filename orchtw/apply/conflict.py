"""Conflict errors of server-side apply (reference ERR-10, APPLY-21)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

import orjson

from orchtw.apply.managed_fields import UPDATE, FieldOwner, Owned
from orchtw.apply.server_side_apply import FieldConflict
from orchtw.errors import MAX_CAUSES, Cause, Conflict, shown_causes
from orchtw.schema.codec.mismatch import shortened
from orchtw.values.causes import MAX_SHOWN_CHARACTERS


def conflict_error(conflicts: Sequence[FieldConflict]) -> Conflict:
    """Return the 409 with a cause per field, up to MAX_CAUSES. `conflicts` are not empty and sorted by owner."""
    count = sum(len(conflict.fields) for conflict in conflicts)
    causes = shown_causes(list(islice(_causes(conflicts), MAX_CAUSES + 1)))
    if count == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        message = f"Apply failed with {count} conflicts: " + "\n".join(_lines(causes))
    return Conflict(message, {"causes": [cause.to_json() for cause in causes]})


def _causes(conflicts: Sequence[FieldConflict]) -> Iterator[Cause]:
    """Yield a cause per field, lazily: each repeats the whole path, so all of them could be large."""
    for conflict in conflicts:
        who = _shown(conflict.owner, conflict.owned)
        for path in conflict.fields.texts():
            yield Cause("FieldManagerConflict", f"conflict with {who}", shortened(path, MAX_SHOWN_CHARACTERS))


def _lines(causes: Sequence[Cause]) -> Iterator[str]:
    """Yield the lines of the message: the fields by owner. The last cause may stand for those left out."""
    for text, group in groupby(causes, lambda cause: cause.message):
        fields = [cause.field for cause in group if cause.field]
        yield text.replace("conflict with", "conflicts with", 1) + ":" if fields else text
        yield from (f"- {field}" for field in fields)


def _shown(owner: FieldOwner, owned: Owned) -> str:
    text = orjson.dumps(shortened(owner.manager, MAX_SHOWN_CHARACTERS)).decode()
    if owner.subresource:
        text += f" with subresource {orjson.dumps(shortened(owner.subresource, MAX_SHOWN_CHARACTERS)).decode()}"
    if owner.operation == UPDATE:
        text += f" using {owned.api_version}"
        if owned.time:
            text += f" at {owned.time}"
    return text
