"""Parts that the wanted object of an update shares with the live one, so that both are compared by identity.

These are whole parts under a top key or in metadata (`Codec.fit_changes`): rules of a kind complete a changed part in
place, so no struct in it may be the live object's.
"""

from __future__ import annotations

import orjson

from orchtw.registry.target import Target
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


def may_share(target: Target, live: Entry) -> bool:
    """Report whether an update's wanted and live object may share parts.

    Conversions and reservations change parts that are equal before.
    """
    stored = target.stored
    return (
        target.from_storage is None
        and target.forms is None
        and stored.strategy.reservations is None
        and stored.is_current(live)
    )


def view_of(old: Object) -> Object:
    """Return an object with the parts of `old`, to make the wanted one of."""
    return {**old, "metadata": {**old["metadata"]}}


def is_intact(old: Object, target: Target, live: Entry) -> bool:
    """Report whether `old`, the draft of `live`, is as it was loaded."""
    return orjson.dumps(old)[len(target.codec.type_prefix) :] == target.json_tail(live)
