"""Which servers are alive: each keeps a record of its own in the store that they share (reference CTRL-7)."""

from __future__ import annotations

from typing import Final

import attrs
import orjson

from orchtw.storage.interface import Kept, Store

SERVERS: Final = "/registry/servers/"
RENEWAL_S: Final = 5.0
LIFE_S: Final = 15.0
"""After its last renewal a record ends by itself."""


@attrs.frozen(slots=True, order=True)
class Place:
    """Where a server can be reached."""

    address: str
    port: int


class ServerLeases:
    """The record of the server `name` at `place`, and a view of those of others; `left`: it is about to end.

    On a store that nobody shares this server is the only one, and nothing is written. The same goes for one whose
    other processes are workers of this server, `alone` together: they serve at the same place.
    """

    def __init__(self, store: Store, place: Place, name: str, *, alone: bool = False) -> None:
        self.place = place
        self.shared = store.shared and not alone
        self._store = store
        self._key = f"{SERVERS}{name}"
        self._kept: Kept | None = None
        self.left = False

    async def renew(self) -> None:
        """Say that this server is alive, which only the first time is a write. Raises what the store raises."""
        if not self.shared or self.left:
            return
        if self._kept is None or not await self._kept.renew():
            self._kept = None
            kept = await self._store.keep(self._key, orjson.dumps(attrs.asdict(self.place)), LIFE_S)
            if self.left:
                await kept.end()
            else:
                self._kept = kept

    async def leave(self) -> None:
        """Say that this server is about to end."""
        self.left = True
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.end()

    async def several(self) -> bool:
        """Whether other servers are alive too. Raises what the store raises."""
        return self.shared and len(await self.living()) > 1

    async def living(self) -> list[Place]:
        """The servers that are alive, in order. Raises what the store raises."""
        if not self.shared:
            return [] if self.left else [self.place]
        records = (await self._store.list(SERVERS)).items
        return sorted({Place(**orjson.loads(record.value)) for record in records})
