"""Contract of encryption providers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

MARK: Final = b"k8s:enc:"
"""What every sealed value begins with, in every vocabulary: stores can be read by the original's tools, and theirs
here.
"""


NOT_PLAIN: Final = "identity transformer tried to read encrypted data"
"""Why a sealed value cannot be read where values are plain."""


class Unreadable(ValueError):
    """A value cannot be opened; the text says why and is fit for clients."""


class KeyMissing(Exception):
    """A data key has to come from elsewhere first: await `fetch()`, which raises Unreadable, and ask again."""

    def __init__(self, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.fetch = fetch


class Provider(Protocol):
    """One key of one kind, or a service that keeps keys: both methods of the latter may raise KeyMissing.

    `prefix` is what its values begin with; empty for one that does not seal. `family` is how those of all its keys
    do, and `no_key` what is said of such a value whose key is not there; empty where there is but one key.
    """

    @property
    def prefix(self) -> bytes:
        """Return the prefix of its values."""

    @property
    def family(self) -> bytes:
        """Return the prefix of values of its kind."""

    @property
    def no_key(self) -> str:
        """Why a value of its kind under another key stays closed."""

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """The sealed form of a value, without the prefix; `place` is its key in the store."""

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """The value of a sealed form without its prefix. Raises Unreadable."""


def family(provider: str) -> bytes:
    """The prefix of values that any key of a provider seals."""
    return MARK + f"{provider}:v1:".encode()


def prefix(provider: str, key: str) -> bytes:
    """The prefix of values that `key` of a provider seals."""
    return family(provider) + f"{key}:".encode()


def no_key(kind: str) -> str:
    """Why a value stays closed that another key of this kind has sealed."""
    return f"no matching key was found for the provided {kind} transformer"
