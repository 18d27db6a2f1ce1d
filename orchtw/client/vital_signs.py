"""Signs of life of those who hold a Lease, beside it in a store that servers share (reference CTRL-50).

To renew one is no write where the store knows values that last while they are kept alive. So a holder can be looked
after every few seconds, while the Lease itself is seldom written.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from orchtw.storage.interface import KeptHistory, Store

SIGNS: Final = "/registry/leaders/"


class VitalSigns:
    """Those beside one Lease."""

    def __init__(self, store: Store, namespace: str, name: str) -> None:
        self._store = store
        self._prefix = f"{SIGNS}{namespace}/{name}/"

    async def give(self, identity: str, life_s: float) -> KeptHistory:
        """Begin to show that the holder of that name lives. Raises what the store raises."""
        return await self._store.keep(self._key(identity), identity.encode("utf-8", "replace"), life_s)

    async def seen(self, identity: str) -> bool:
        """Report whether the holder of that name shows a sign of life. Raises what the store raises."""
        return await self._store.get(self._key(identity)) is not None

    def _key(self, identity: str) -> str:
        """Return the key of a holder, whose name in the Lease may have any length and characters."""
        return self._prefix + sha256(identity.encode("utf-8", "replace")).hexdigest()
