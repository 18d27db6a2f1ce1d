"""Provider whose key a service keeps: each value has a data key of its own, which only the service can open."""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import partial
from time import perf_counter
from typing import Final, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchtw.storage.encryption.aes import AesCbc
from orchtw.storage.encryption.metrics import SealingMetrics
from orchtw.storage.encryption.provider import KeyMissing, Unreadable, prefix

_KEY_BYTES: Final = 32
_LENGTH_BYTES: Final = 2
_PROBE: Final = b"ping"
_MOST_COME: Final = 1000
_SUCCESS_LASTS_S: Final = 20.0
_FAILURE_LASTS_S: Final = 3.0


class Service(Protocol):
    """The key management service; both methods raise Unreadable."""

    async def encrypt(self, plain: bytes) -> bytes:
        """Return the data key `plain`, sealed."""

    async def decrypt(self, cipher: bytes) -> bytes:
        """Return the data key sealed in `cipher`."""


class Kms:
    """Provider that seals each value under a data key, which the service seals.

    A stored value is the length of the sealed data key (2 bytes, big-endian), that key, and the value in AES-CBC.
    Up to `cache_size` data keys are kept; negative: none, so that the service is called for each value.
    """

    no_key: Final = ""

    def __init__(self, name: str, service: Service, cache_size: int, metrics: SealingMetrics | None = None) -> None:
        self.name = name
        self.prefix = self.family = prefix("kms", name)
        self._metrics = metrics or SealingMetrics()
        self._service = service
        self._most = max(cache_size, 0)
        self._kept: OrderedDict[bytes, AesCbc] = OrderedDict()
        self._come: dict[bytes, AesCbc] = {}
        """Data keys that a caller has just fetched: for one use each, if none are kept."""
        self._fresh: list[tuple[bytes, AesCbc]] = []
        """Data keys that seal the next values, one each."""
        self._asked: dict[bytes, list[Deferred[None]]] = {}

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Seal a value under a fresh data key. Raises KeyMissing; see `Provider`."""
        if not self._fresh:
            raise KeyMissing(self._make)
        sealed_key, cipher = self._fresh.pop()
        if self._most:
            self._keep(sealed_key, cipher)
        return len(sealed_key).to_bytes(_LENGTH_BYTES, "big") + sealed_key + cipher.seal(plain, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        end = _LENGTH_BYTES + int.from_bytes(sealed[:_LENGTH_BYTES], "big")
        sealed_key = sealed[_LENGTH_BYTES:end]
        if end == _LENGTH_BYTES or len(sealed) <= end:
            raise Unreadable("invalid data encountered by envelope transformer: its key is cut short")
        cipher = self._kept.get(sealed_key)
        if cipher is None:
            cipher = self._come.pop(sealed_key, None)
            if cipher is None:
                self._metrics.misses.value += bool(self._most)
                raise KeyMissing(partial(self._fetch, sealed_key))
        else:
            self._kept.move_to_end(sealed_key)
        return cipher.open(sealed[end:], place)

    async def check(self) -> None:
        """Check that the service seals and opens a data key. Raises Unreadable."""
        if await self._service.decrypt(await self._service.encrypt(_PROBE)) != _PROBE:
            raise Unreadable("the service does not return the data key that it was given")

    async def _make(self) -> None:
        began = perf_counter()
        try:
            key = os.urandom(_KEY_BYTES)
        except OSError as error:
            self._metrics.failures.value += 1
            raise Unreadable(f"failed to generate a data key: {error.strerror}") from None
        self._metrics.generations.observe(perf_counter() - began)
        sealed_key = await self._service.encrypt(key)
        if not 0 < len(sealed_key) < 1 << 8 * _LENGTH_BYTES:
            raise Unreadable("the service returned an encrypted data key that is empty or too long")
        self._fresh.append((sealed_key, AesCbc(self.name, key)))

    async def _fetch(self, sealed_key: bytes) -> None:
        """Fetch a key; further requests for the same key wait with the first."""
        if (waiting := self._asked.get(sealed_key)) is not None:
            mine: Deferred[None] = Deferred()
            waiting.append(mine)
            return await mine
        self._asked[sealed_key] = []
        try:
            key = await self._service.decrypt(sealed_key)
            try:
                cipher = AesCbc(self.name, key)
            except ValueError:
                raise Unreadable("the service returned a key that is not an AES key") from None
        except Unreadable:
            for each in self._asked.pop(sealed_key):
                each.errback(Failure())  # type: ignore[no-untyped-call]
            raise
        self._keep(sealed_key, cipher)
        for each in self._asked.pop(sealed_key):
            each.callback(None)
        return None

    def _keep(self, sealed_key: bytes, cipher: AesCbc) -> None:
        if not self._most:
            self._come[sealed_key] = cipher
            if len(self._come) > _MOST_COME:
                del self._come[next(iter(self._come))]  # its caller has gone
            return
        self._kept[sealed_key] = cipher
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)


class KmsHealth:
    """Health check of a service, whose result is kept for a while."""

    def __init__(self, service: Kms, clock: IReactorTime) -> None:
        self._service = service
        self._clock = clock
        self._until = -1.0
        self._why = ""

    async def __call__(self) -> None:
        """Check the service, unless a recent result is known. Raises Unreadable."""
        if self._clock.seconds() >= self._until:
            try:
                await self._service.check()
            except Unreadable as problem:
                self._why, lasts_s = str(problem), _FAILURE_LASTS_S
            else:
                self._why, lasts_s = "", _SUCCESS_LASTS_S
            self._until = self._clock.seconds() + lasts_s
        if self._why:
            raise Unreadable(self._why)
