"""Which servers are alive: each renews a record of its own in the store that they share (reference CTRL-7)."""

from __future__ import annotations

from typing import Final

import attrs
import orjson
from twisted.internet.interfaces import IReactorTime

from orchtw.json_values import loads
from orchtw.storage.interface import Op, Store

LEASES: Final = "/registry/serverleases/"
RENEWAL_S: Final = 10.0
LIFE_S: Final = 15.0
"""By the clock of whoever looks, since it saw a record change: clocks of different machines are not compared."""


@attrs.frozen(slots=True, order=True)
class Place:
    """Where a server can be reached."""

    address: str
    port: int


class ServerLeases:
    """The record of the server at `place`, and a view of those of others; `left` says that it is about to end.

    On a store that nobody shares this server is the only one, and nothing is written. The same goes for one whose
    other processes are workers of this server, `alone` together: they serve at the same place.
    """

    def __init__(self, store: Store, clock: IReactorTime, place: Place, *, alone: bool = False) -> None:
        self.place = place
        self.shared = store.shared and not alone
        self._store = store
        self._clock = clock
        self._key = f"{LEASES}{place.address}:{place.port}"
        self.left = False
        self._seen: dict[str, tuple[int, float]] = {}

    async def renew(self) -> None:
        """Say that this server is alive. Raises what the store raises."""
        if self.shared and not self.left:
            await self._store.commit(Op(self._key, orjson.dumps(attrs.asdict(self.place))))

    async def leave(self) -> None:
        """Say that this server is about to end."""
        self.left = True
        if self.shared:
            await self._store.commit(Op(self._key, None))

    async def several(self) -> bool:
        """Whether other servers are alive too. Raises what the store raises."""
        return self.shared and len(await self.living()) > 1

    async def living(self) -> list[Place]:
        """The servers that are alive, in order; the records of others are removed. Raises what the store raises."""
        if not self.shared:
            return [] if self.left else [self.place]
        now, before, found = self._clock.seconds(), self._seen, []
        self._seen = {}
        for record in (await self._store.list(LEASES)).items:
            revision, since = before.get(record.key, (0, now))
            if revision != record.revision:
                since = now
            if now - since < LIFE_S:
                self._seen[record.key] = (record.revision, since)
                found.append(Place(**loads(record.value)))
            else:
                await self._store.commit(Op(record.key, None, record.revision))
        return sorted(found)
