"""Which servers are alive, and what they say of themselves, by their records in the store they share (CTRL-7).

A record names the revision at which its server has come, so that all know who was there first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import orjson

from orchtw.storage.interface import KeptHistory, KeyValue, Store

SERVERS: Final = "/registry/servers/"
RENEWAL_S: Final = 5.0
LIFE_S: Final = 15.0
"""After its last renewal a record ends by itself."""


@attrs.frozen(slots=True, order=True)
class LeasePlace:
    """Where a server can be reached."""

    address: str
    port: int

    def __str__(self) -> str:
        """As people write it."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@attrs.frozen(slots=True, kw_only=True)
class Record:
    """One server: `since` is the revision at which it came, `accepted` whether it may serve beside those before it.

    `facts` is its statement of what servers must agree on.
    """

    name: str
    place: LeasePlace
    since: int
    accepted: bool
    facts: Mapping[str, Any]


class ServerLeases:
    """The record of the server `name` at `place`, and a view of those of others; `left`: it is about to end.

    On a store that nobody shares this server is the only one, and nothing is written. The same goes for one whose
    other processes are workers of this server, `alone` together: they serve at the same place.
    """

    def __init__(
        self,
        store: Store,
        place: LeasePlace,
        name: str,
        facts: Mapping[str, Any] | None = None,
        *,
        alone: bool = False,
    ) -> None:
        self.place = place
        self.name = name
        self.shared = store.shared and not alone
        self._store = store
        self._facts = facts or {}
        self._kept: KeptHistory | None = None
        self.left = False
        self.accepted = False
        self.since = 0

    async def renew(self) -> None:
        """Say that this server is alive, which is a write the first time only. Raises what the store raises."""
        if not self.shared or self.left:
            return
        if self._kept is None or not await self._kept.renew():
            await self._enter()

    async def accept(self, accepted: bool) -> None:
        """Say whether this server may serve beside those before it. Raises what the store raises."""
        if accepted != self.accepted:
            self.accepted = accepted
            if self.shared and not self.left:
                await self._enter()

    async def leave(self) -> None:
        """Say that this server is about to end."""
        self.left = True
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.end()

    async def _enter(self) -> None:
        said = {**attrs.asdict(self.place), "since": self.since, "accepted": self.accepted, "facts": self._facts}
        before, self._kept = self._kept, None
        kept = await self._store.keep(f"{SERVERS}{self.name}", orjson.dumps(said), LIFE_S)
        self.since = self.since or kept.revision
        if before is not None:
            await before.end()
        if self.left:
            await kept.end()
        else:
            self._kept = kept

    async def several(self) -> bool:
        """Report whether other servers are alive too. Raises what the store raises."""
        return self.shared and len(await self.records()) > 1

    async def records(self) -> list[Record]:
        """The servers that are alive, who came first before others. Raises what the store raises."""
        found = (_read(item) for item in (await self._store.list(SERVERS)).items)
        return sorted((record for record in found if record is not None), key=lambda each: (each.since, each.name))

    async def living(self) -> list[LeasePlace]:
        """Where servers are that are alive and may serve, in order. Raises what the store raises."""
        if not self.shared:
            return [] if self.left else [self.place]
        return sorted({record.place for record in await self.records() if record.accepted})


def _read(item: KeyValue) -> Record | None:
    """Decode a record; None if it cannot be read."""
    try:
        said = orjson.loads(item.value)
        return Record(
            name=item.key.removeprefix(SERVERS),
            place=LeasePlace(str(said["address"]), int(said["port"])),
            since=int(said["since"]) or item.revision,
            accepted=bool(said["accepted"]),
            facts=dict(said["facts"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
