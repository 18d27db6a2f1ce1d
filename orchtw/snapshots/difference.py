"""Difference between the present state and a snapshot, as the writes that bring it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from orchtw.registry.targets import REGISTRY, Replaced
from orchtw.snapshots.extent import DEFINITIONS, Extent
from orchtw.snapshots.snapshots import Snapshot
from orchtw.storage.store import KeyValue, Op, Restored, Store

Ops = list[Op]
Pairs = list[Replaced]


class Difference(msgspec.Struct, frozen=True, eq=False):
    """Values that differ at `revision`, the present one, from those of a snapshot; `after` are the snapshot's."""

    revision: int
    values: Sequence[Replaced]

    def ops(self, note: Restored, lifetimes: Mapping[str, float]) -> Sequence[Op]:
        """Return the writes, each with the note.

        `lifetimes` are in seconds by prefix: a value that expires lives as long as after any other write. Definitions
        are deleted last, after their objects, so that those who watch the objects are told.
        """
        first: Ops = []
        last: Ops = []
        lasting = tuple(lifetimes)
        for each in self.values:
            key, value = each.key, each.after
            if value is not None:
                ttl_s = 0.0
                if key.startswith(lasting):
                    ttl_s = next(lives_s for prefix, lives_s in lifetimes.items() if key.startswith(prefix))
                first.append(Op(key, value, None, note, ttl_s))
            else:
                (last if key.startswith(DEFINITIONS) else first).append(Op(key, None, None, note))
        return first + last


async def difference(store: Store, snapshot: Snapshot, extent: Extent) -> Difference:
    """Return the difference of a snapshot from the present state, which is read in pages at one revision.

    Values that have been changed and changed back do not differ. Raises what the store raises.
    """
    wanted, found = snapshot.items, set[str]()
    values: Pairs = []
    revision = 0
    async for page in store.scan(REGISTRY):
        revision = page.revision
        for item in page.items:
            then = wanted.get(item.key)
            found.add(item.key)
            if (then is None or _differs(then, item)) and extent.holds(item.key):
                values.append(Replaced(item.key, item.value, None if then is None else then.value))
        # Values that cannot be read are replaced by readable ones, and stay where they were there before.
        lost = (each.key for each in page.damaged if each.key not in snapshot.unreadable)
        values += (Replaced(key, b"", None) for key in lost if key not in wanted and extent.holds(key))
    values += (Replaced(key, None, wanted[key].value) for key in wanted if key not in found and extent.holds(key))
    return Difference(revision, values)


def _differs(then: KeyValue, now: KeyValue) -> bool:
    return then.revision != now.revision and then.value != now.value
