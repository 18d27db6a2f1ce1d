"""Signs of life of Lease holders, beside the Lease in a store that servers share (reference CTRL-50).

Renewing one is not a write if the store supports values that last while they are kept alive. So a holder can be
checked every few seconds, while the Lease itself is seldom written.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from orchtw.storage.store import KeptValue, Store

SIGNS: Final = "/registry/leaders/"


class VitalSigns:
    """Signs of life beside one Lease."""

    def __init__(self, store: Store, namespace: str, name: str) -> None:
        self._store = store
        self._prefix = f"{SIGNS}{namespace}/{name}/"

    async def give(self, identity: str, life_s: float) -> KeptValue:
        """Begin to show that the named holder is alive. Raises the store's errors."""
        return await self._store.keep(self._key(identity), identity.encode("utf-8", "replace"), life_s)

    async def seen(self, identity: str) -> bool:
        """Report whether the named holder shows a sign of life. Raises the store's errors."""
        return await self._store.get(self._key(identity)) is not None

    def _key(self, identity: str) -> str:
        """Return the key of a holder, whose name may have any length and characters."""
        return self._prefix + sha256(identity.encode("utf-8", "replace")).hexdigest()
