"""Live servers and their facts, by their records in the shared store (CTRL-7).

A record has the revision at which its server joined, so that all agree on the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from orchtw.storage.store import KeptValue, KeyValue, Store

SERVERS: Final = "/registry/servers/"
RENEWAL_S: Final = 5.0
LIFE_S: Final = 15.0
"""Lifetime of a record after its last renewal."""


class ServerPlace(msgspec.Struct, frozen=True, order=True):
    """Address and port of a server."""

    address: str
    port: int

    def __str__(self) -> str:
        """Format as `address:port`, an IPv6 address in brackets."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One server: `since` is the revision at which it joined; `accepted`: it may serve beside the earlier ones.

    `facts` are its values of what servers must agree on.
    """

    name: str
    place: ServerPlace
    since: int
    accepted: bool
    facts: Mapping[str, Any]


class ServerLeases:
    """The record of the server `name` at `place`, and access to those of others; `left`: it is about to end.

    On an unshared store this server is the only one, and nothing is written. The same holds if the store's other
    processes are workers of this server, `alone` together: they serve at the same place.
    """

    def __init__(
        self,
        store: Store,
        place: ServerPlace,
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
        self._kept: KeptValue | None = None
        self.left = False
        self.accepted = False
        self.since = 0

    async def renew(self) -> None:
        """Renew the record, which is a write only the first time. Raises the store's errors."""
        if not self.shared or self.left:
            return
        if self._kept is None or not await self._kept.renew():
            await self._enter()

    async def accept(self, accepted: bool) -> None:
        """Record whether this server may serve beside the earlier ones. Raises the store's errors."""
        if accepted != self.accepted:
            self.accepted = accepted
            if self.shared and not self.left:
                await self._enter()

    async def leave(self) -> None:
        """Remove the record: this server is about to end."""
        self.left = True
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.end()

    async def _enter(self) -> None:
        said = {
            **msgspec.structs.asdict(self.place),
            "since": self.since,
            "accepted": self.accepted,
            "facts": self._facts,
        }
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
        """Report whether other servers are alive too. Raises the store's errors."""
        return self.shared and len(await self.records()) > 1

    async def records(self) -> list[Record]:
        """Return the live servers, in the order in which they joined. Raises the store's errors."""
        found = (_read(item) for item in (await self._store.list(SERVERS)).items)
        return sorted((record for record in found if record is not None), key=lambda each: (each.since, each.name))

    async def living(self) -> list[ServerPlace]:
        """Return the places of live servers that may serve, in order. Raises the store's errors."""
        if not self.shared:
            return [] if self.left else [self.place]
        return sorted({record.place for record in await self.records() if record.accepted})


def _read(item: KeyValue) -> Record | None:
    """Decode a record; None if it cannot be read."""
    try:
        said = orjson.loads(item.value)
        return Record(
            name=item.key.removeprefix(SERVERS),
            place=ServerPlace(str(said["address"]), int(said["port"])),
            since=int(said["since"]) or item.revision,
            accepted=bool(said["accepted"]),
            facts=dict(said["facts"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
