"""Keeps this server's keys in the store for others that know the join secret (reference CTRL-54)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from twisted.logger import Logger

from orchtw.bootstrap import sealed_record
from orchtw.errors import StatusError
from orchtw.pki.sealed_keys import FLAG, WrongSecret, seal, unseal
from orchtw.registry.offload import INLINE_BYTES, Offload
from orchtw.storage.store import Store

LONG: Final = INLINE_BYTES + 1
"""Size in bytes at which work goes to the thread: stretching the secret takes a tenth of a second."""


class Handover:
    """Offer of `keys`, files by their names, to servers that know the `secret`."""

    _log = Logger()

    def __init__(self, secret: bytes, keys: Mapping[str, bytes]) -> None:
        self._secret = secret
        self._keys = keys

    async def offer(self, store: Store, offload: Offload) -> None:
        """See to it that the store has the keys. What it does not take is logged, and left to the next start."""
        try:
            await self._offer(store, offload)
        except StatusError as error:
            self._log.warn("failed to hand over this server's keys: {why}", why=error.message)

    async def _offer(self, store: Store, offload: Offload) -> None:
        found = await sealed_record.record(store)
        if found is not None:
            try:
                there = await offload.run(LONG, lambda: unseal(self._secret, found.value))
            except WrongSecret:
                self._log.warn(
                    "the keys in the store were encrypted with another --{flag}; this server's keys replace them",
                    flag=FLAG,
                )
            else:
                if _private(there) != _private(self._keys):
                    self._log.warn("the keys in the store differ from this server's")
                return
        sealed = await offload.run(LONG, lambda: seal(self._secret, self._keys))
        if await sealed_record.replace(store, sealed, found):
            self._log.info("stored this server's keys, encrypted for servers with the same --{flag}", flag=FLAG)


def _private(keys: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the keys alone: certificates are renewed for them."""
    return {name: content for name, content in keys.items() if name.endswith(".key")}
