"""From where a cache follows a store that others serve too (reference READ-28)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Expired
from orchtw.storage.interface import Store

RECENT: Final = 10_000
"""So far a server looks back when it starts: some hundred milliseconds' work, and hours of a quiet cluster."""

FEWEST: Final = 10


async def starting_point(store: Store, key: str) -> int:
    """The revision to load: a recent one with its history, so that watches of other servers go on; 0: the latest.

    `key` is any valid one. Raises what the store raises.
    """
    if not store.shared:
        return 0
    now, back = await store.revision(), RECENT
    while back >= FEWEST:
        revision = max(1, now - back)
        try:
            await store.get(key, revision)
        except Expired:
            back //= 2
        else:
            return revision
    return 0
