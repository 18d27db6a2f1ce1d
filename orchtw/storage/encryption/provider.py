"""Contract of encryption providers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

MARK: Final = b"k8s:enc:"
"""Prefix of every sealed value, in every vocabulary: the original's tools can read our stores, and we theirs."""


NOT_PLAIN: Final = "identity transformer tried to read encrypted data"
"""Error for a sealed value where values are plain."""


class Unreadable(ValueError):
    """Error: a value cannot be opened; the text gives the reason and is fit for clients."""


class KeyMissing(Exception):
    """Error: a data key has to be fetched first: await `fetch()`, which raises Unreadable, and try again."""

    def __init__(self, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.fetch = fetch


class Provider(Protocol):
    """One key of one kind, or a service that keeps keys: both methods of the latter may raise KeyMissing.

    `prefix` begins its values; it is empty for a provider that does not seal. `family` begins those of all keys of
    its kind, and `no_key` is the error for such a value without its key; both are empty where there is only one key.
    """

    @property
    def prefix(self) -> bytes:
        """Prefix of its values."""

    @property
    def family(self) -> bytes:
        """Prefix of the values of its kind, under any key."""

    @property
    def no_key(self) -> str:
        """Error for a value of its kind under a missing key."""

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Return the sealed form of a value, without the prefix; `place` is its key in the store."""

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Return the value of a sealed form without its prefix. Raises Unreadable."""


def family(provider: str) -> bytes:
    """Return the prefix of values that any key of a provider seals."""
    return MARK + f"{provider}:v1:".encode()


def prefix(provider: str, key: str) -> bytes:
    """Return the prefix of values that `key` of a provider seals."""
    return family(provider) + f"{key}:".encode()


def no_key(kind: str) -> str:
    """Return the error for a value sealed by another key of this kind."""
    return f"no matching key was found for the provided {kind} transformer"
