"""Selection of the provider that seals the values of a resource, and of those that can open them."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from time import perf_counter

import msgspec

from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.metrics import FROM_STORAGE, IDENTITY, NO_PROVIDER, TO_STORAGE, SealingMetrics
from orchtw.storage.encryption.provider import NOT_PLAIN, KeyMissing, Provider, Unreadable


class Opened(msgspec.Struct, frozen=True):
    """A value; `stale`: it is not yet sealed by the first provider."""

    value: bytes
    stale: bool


class Transformer:
    """The providers of one resource: the first seals, all open.

    `otherwise` is the error for values that no provider recognises.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        otherwise: str = "no matching prefix found",
        metrics: SealingMetrics | None = None,
    ) -> None:
        self._otherwise = otherwise
        self._metrics = metrics or SealingMetrics()
        self._providers = tuple(providers)
        self._first = self._providers[0]
        self._begun: dict[tuple[str, bytes], float] = {}
        """Start times of operations that wait for a data key, by operation and place of the value."""

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt a value for the store. Raises KeyMissing."""
        began = self._begun.pop((TO_STORAGE, place), None) or perf_counter()
        first = self._first
        try:
            sealed = first.prefix + first.seal(plain, place)
        except KeyMissing as missing:
            raise self._waiting(missing, TO_STORAGE, first, place, began) from None
        self._metrics.ended(TO_STORAGE, first.family.decode(), perf_counter() - began)
        return sealed

    def open(self, stored: bytes, place: bytes) -> Opened:
        """Decrypt a stored value. Raises KeyMissing, and Unreadable where no provider can decrypt it.

        Several keys of one name may be in use, one rotated to and one away from: all that fit are tried.
        """
        began = self._begun.pop((FROM_STORAGE, place), None) or perf_counter()
        problems: dict[str, None] = {}
        for provider in self._providers:
            if stored.startswith(provider.prefix):
                try:
                    value = provider.open(stored[len(provider.prefix) :], place)
                except KeyMissing as missing:
                    raise self._waiting(missing, FROM_STORAGE, provider, place, began) from None
                except Unreadable as problem:
                    if provider.prefix:
                        self._metrics.failed(FROM_STORAGE, _shown(provider))
                        problems[str(problem)] = None
                else:
                    self._metrics.ended(FROM_STORAGE, _shown(provider), perf_counter() - began)
                    return Opened(value, provider is not self._first)
        raise Unreadable(self._why(stored, list(problems)))

    def _why(self, stored: bytes, problems: Sequence[str]) -> str:
        """Return why a value is unreadable: the providers' errors, else the name of the missing key."""
        if problems:
            return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        for provider in self._providers:
            if provider.no_key and stored.startswith(provider.family):
                self._metrics.failed(FROM_STORAGE, _shown(provider))
                return provider.no_key
        self._metrics.failed(FROM_STORAGE, NO_PROVIDER)
        return self._otherwise

    def _waiting(
        self, missing: KeyMissing, kind: str, provider: Provider, place: bytes, began: float
    ) -> KeyMissing:
        """Wrap the error for a caller that retries: the time of both tries counts, and a failure in between."""
        key = kind, place

        async def fetch() -> None:
            fetching: Awaitable[None] = missing.fetch()
            try:
                await fetching
            except Unreadable:
                self._metrics.failed(kind, _shown(provider))
                raise
            self._begun[key] = began

        return KeyMissing(fetch)


def _shown(provider: Provider) -> str:
    return provider.family.decode() or IDENTITY


PLAIN = Transformer([Identity()], NOT_PLAIN)
"""Transformer of resources that are not encrypted."""


class Transformers:
    """Transformers by the prefix of a resource's keys in the store, with common `metrics`."""

    def __init__(self, by_prefix: Mapping[str, Transformer], metrics: SealingMetrics | None = None) -> None:
        self._by_prefix = dict(by_prefix)
        self.metrics = metrics or SealingMetrics()

    def of(self, key: str) -> Transformer:
        """Return the transformer of the resource that a store key belongs to.

        Keys are `/registry/<plural>/…` or `/registry/<group>/<plural>/…`.
        """
        second = key.find("/", 1) + 1
        third = key.find("/", second) + 1
        found = self._by_prefix.get(key[:third])
        if found is None:
            found = self._by_prefix.get(key[: key.find("/", third) + 1], PLAIN)
        return found
