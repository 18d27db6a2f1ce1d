"""The refusal of an apply that would change what others own (supplement A4, apply conflict)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from orchtw.apply.managed import UPDATE, Owned, Owner
from orchtw.apply.server_side import FieldConflict
from orchtw.errors import Cause, Conflict


def conflict_error(conflicts: Sequence[FieldConflict]) -> Conflict:
    """The 409 with a cause per field; `conflicts` hold at least one field and are sorted by owner."""
    causes, lines = [], []
    for conflict in conflicts:
        who = _shown(conflict.owner, conflict.owned)
        lines.append(f"conflicts with {who}:")
        for path in conflict.fields.texts():
            lines.append(f"- {path}")
            causes.append(Cause("FieldManagerConflict", f"conflict with {who}", path))
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return Conflict(message, {"causes": [cause.to_json() for cause in causes]})


def _shown(owner: Owner, owned: Owned) -> str:
    text = orjson.dumps(owner.manager).decode()
    if owner.subresource:
        text += f" with subresource {orjson.dumps(owner.subresource).decode()}"
    if owner.operation == UPDATE:
        text += f" using {owned.api_version}"
        if owned.time:
            text += f" at {owned.time}"
    return text
