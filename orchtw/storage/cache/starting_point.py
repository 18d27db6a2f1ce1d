"""Revision from which a cache loads a store that other servers share (reference READ-28)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Expired
from orchtw.storage.store import Store

FEWEST: Final = 10


async def starting_point(store: Store, key: str) -> int:
    """Return the revision to load: a recent one, so that watches begun at other servers go on; 0: the latest.

    `key` is any valid one. Raises what the store raises.
    """
    back = store.looks_back
    if not back:
        return 0
    now = await store.revision()
    while back >= FEWEST:
        revision = max(1, now - back)
        try:
            await store.get(key, revision)
        except Expired:
            back //= 2
        else:
            return revision
    return 0
