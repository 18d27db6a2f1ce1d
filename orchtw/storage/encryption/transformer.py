"""Which provider seals the values of a resource, and which ones can open them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.provider import NOT_PLAIN, Provider, Unreadable


@attrs.frozen(slots=True)
class Opened:
    """A value, and whether it is yet to be sealed as values are now."""

    value: bytes
    stale: bool


class Transformer:
    """The providers of one resource: the first seals, all open. `otherwise`: why what none knows stays closed."""

    def __init__(self, providers: Sequence[Provider], otherwise: str = "no matching prefix found") -> None:
        self._otherwise = otherwise
        self._providers = tuple(providers)
        self._first = self._providers[0]

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """What the store is to keep."""
        return self._first.prefix + self._first.seal(plain, place)

    def open(self, stored: bytes, place: bytes) -> Opened:
        """What a value of the store stands for. Raises Unreadable where no provider can open it.

        Several keys of one name may be in use, one rotated to and one away from: all that fit are tried.
        """
        problems: list[str] = []
        for provider in self._providers:
            if stored.startswith(provider.prefix):
                try:
                    value = provider.open(stored[len(provider.prefix) :], place)
                except Unreadable as problem:
                    if provider.prefix:
                        problems.append(str(problem))
                else:
                    return Opened(value, provider is not self._first)
        raise Unreadable(", ".join(problems) or self._otherwise)


PLAIN = Transformer([Identity()], NOT_PLAIN)
"""Of resources that nobody wants to have encrypted."""


class Transformers:
    """The transformer of each resource, by the prefix of its keys in the store."""

    def __init__(self, by_prefix: Mapping[str, Transformer]) -> None:
        self._by_prefix = dict(by_prefix)

    def of(self, key: str) -> Transformer:
        """That of the resource that `key` of the store belongs to.

        Keys are `/registry/<plural>/…` or `/registry/<group>/<plural>/…`.
        """
        second = key.find("/", 1) + 1
        third = key.find("/", second) + 1
        found = self._by_prefix.get(key[:third])
        if found is None:
            found = self._by_prefix.get(key[: key.find("/", third) + 1], PLAIN)
        return found
