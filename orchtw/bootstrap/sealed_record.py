"""Record in a store by which its servers hand their keys over, sealed (reference CTRL-54)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from orchtw.bootstrap.server_leases import SERVERS
from orchtw.registry.targets import REGISTRY
from orchtw.storage.store import KeyValue, Op, Store

KEY: Final = f"{REGISTRY}handover/keys"
_NAMESPACES: Final = f"{REGISTRY}namespaces/"


class Reason(Enum):
    """Reason why a server without keys must not make new ones."""

    SERVERS = "a live server has not handed over its keys"
    OBJECTS = "it has objects from servers that have not handed over their keys"


async def found_or_made(store: Store, made: bytes) -> bytes | Reason:
    """Return the sealed keys of the store; for an empty one store `made`, unless another server is faster.

    Raises the store's errors.
    """
    found = await record(store)
    if found is not None:
        return found.value
    if (await store.list(SERVERS, limit=1)).items:
        return Reason.SERVERS
    if (await store.list(_NAMESPACES, limit=1)).items:
        return Reason.OBJECTS
    outcome = await store.commit(Op(KEY, made, 0))
    return made if outcome.current is None else outcome.current.value


async def record(store: Store) -> KeyValue | None:
    """Return the record, if there is one. Raises the store's errors."""
    return await store.get(KEY)


async def replace(store: Store, sealed: bytes, found: KeyValue | None) -> bool:
    """Replace the record that was found; report whether no other server was faster.

    Raises the store's errors.
    """
    return bool((await store.commit(Op(KEY, sealed, 0 if found is None else found.revision))).revision)
