"""Facts that the servers of one cluster publish and compare, because they must agree on them (reference CTRL-52).

A fact is published as JSON without secrets: keys as fingerprints of their public halves, files as salted digests.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

SALT_BYTES: Final = 16
_DIGEST: Final = "sha256"


class Fact(Protocol):
    """One fact of this server. If `fatal`, a server with an incompatible one must not serve beside it."""

    @property
    def name(self) -> str:
        """Return the human-readable name: a flag or a subject."""

    @property
    def fatal(self) -> bool:
        """Report whether servers must agree on the fact."""

    def published(self) -> Any:
        """Return the published value as JSON."""

    def differs(self, other: Any) -> bool:
        """Report whether another server's published value is incompatible.

        Raises KeyError, TypeError, ValueError or AttributeError for a value that this version does not publish.
        """


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """Text that must be equal on all servers."""

    name: str
    text: str
    fatal: bool = False

    def published(self) -> str:
        """Return the text; `differs` is as in `Fact`."""
        return self.text

    def differs(self, other: Any) -> bool:
        return bool(other != self.text)


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a file, compared by digest because it may be confidential."""

    name: str
    content: bytes
    fatal: bool = False
    salt: bytes = msgspec.field(default_factory=lambda: secrets.token_bytes(SALT_BYTES))

    def published(self) -> Mapping[str, str]:
        """Return salt and digest in hexadecimal; `differs` is as in `Fact`."""
        return {"salt": self.salt.hex(), "digest": self._digest(self.salt)}

    def differs(self, other: Any) -> bool:
        return not hmac.compare_digest(self._digest(bytes.fromhex(other["salt"])), str(other["digest"]))

    def _digest(self, salt: bytes) -> str:
        return hmac.digest(salt, self.content, _DIGEST).hex()


class Believed(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that a server signs with (`used`) and those it accepts (`believed`): servers must accept each other's.

    A key can thus be rotated one server at a time, if all accept the new one before any uses it. Two servers that
    accept any keys must accept one in common.
    """

    name: str
    used: Collection[str]
    believed: Collection[str]
    fatal: bool = True

    def published(self) -> Mapping[str, Sequence[str]]:
        """Return both sets of keys, sorted; `differs` is as in `Fact`."""
        return {"used": sorted(self.used), "believed": sorted(self.believed)}

    def differs(self, other: Any) -> bool:
        used, believed = frozenset(other["used"]), frozenset(other["believed"])
        strange = not used <= frozenset(self.believed) or not frozenset(self.used) <= believed
        return strange or bool(believed and self.believed and not believed & frozenset(self.believed))


class Difference(msgspec.Struct, frozen=True):
    """A fact in which another server differs."""

    fact: str
    fatal: bool


def statement(own: Iterable[Fact]) -> dict[str, Any]:
    """Return a server's published facts by name."""
    return {fact.name: fact.published() for fact in own}


def differences(own: Iterable[Fact], other: Mapping[str, Any]) -> list[Difference]:
    """Return the facts that are incompatible with another server's statement.

    A fact that the other server lacks, or publishes in a form of another version, does not count.
    """
    return [Difference(fact.name, fact.fatal) for fact in own if fact.name in other and _differs(fact, other)]


def _differs(fact: Fact, other: Mapping[str, Any]) -> bool:
    try:
        return fact.differs(other[fact.name])
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
