"""Facts that the servers of one cluster publish and compare, as they must agree on them (reference CTRL-52).

A fact is published as JSON in which nothing is secret: keys by fingerprints of their public halves, files by digests
with a salt of their own.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import attrs

SALT_BYTES: Final = 16
_DIGEST: Final = "sha256"


class Fact(Protocol):
    """One fact of this server. With `fatal` a server that has another one must not serve beside it."""

    @property
    def name(self) -> str:
        """Return the name for people: a flag or a subject."""

    @property
    def fatal(self) -> bool:
        """Report whether servers must agree on it."""

    def published(self) -> Any:
        """Return the published value as JSON."""

    def differs(self, other: Any) -> bool:
        """Report whether another server's published value is incompatible.

        Raises KeyError, TypeError or ValueError for what no server of this version publishes.
        """


@attrs.frozen(slots=True, kw_only=True)
class Equal:
    """Text that is the same everywhere."""

    name: str
    text: str
    fatal: bool = False

    def published(self) -> str:
        """See `Fact`, as `differs`."""
        return self.text

    def differs(self, other: Any) -> bool:
        return bool(other != self.text)


@attrs.frozen(slots=True, kw_only=True)
class Content:
    """Content of a file, compared by digest because it may be confidential."""

    name: str
    content: bytes
    fatal: bool = False
    salt: bytes = attrs.field(factory=lambda: secrets.token_bytes(SALT_BYTES))

    def published(self) -> Mapping[str, str]:
        """See `Fact`, as `differs`."""
        return {"salt": self.salt.hex(), "digest": self._digest(self.salt)}

    def differs(self, other: Any) -> bool:
        return not hmac.compare_digest(self._digest(bytes.fromhex(other["salt"])), str(other["digest"]))

    def _digest(self, salt: bytes) -> str:
        return hmac.digest(salt, self.content, _DIGEST).hex()


@attrs.frozen(slots=True, kw_only=True)
class Believed:
    """Keys that a server signs with (`used`), and those it accepts: each must accept what the others use.

    So a key can be exchanged one server after the other, if all believe the new one before any uses it. Those who use
    nothing need only believe something in common.
    """

    name: str
    used: Collection[str]
    believed: Collection[str]
    fatal: bool = True

    def published(self) -> Mapping[str, Sequence[str]]:
        """See `Fact`, as `differs`."""
        return {"used": sorted(self.used), "believed": sorted(self.believed)}

    def differs(self, other: Any) -> bool:
        used, believed = frozenset(other["used"]), frozenset(other["believed"])
        strange = not used <= frozenset(self.believed) or not frozenset(self.used) <= believed
        return strange or bool(believed and self.believed and not believed & frozenset(self.believed))


@attrs.frozen(slots=True)
class Difference:
    """A fact that another server has otherwise."""

    fact: str
    fatal: bool


def statement(own: Iterable[Fact]) -> dict[str, Any]:
    """Return what a server publishes of all its facts."""
    return {fact.name: fact.published() for fact in own}


def differences(own: Iterable[Fact], other: Mapping[str, Any]) -> list[Difference]:
    """The facts that do not go with another server's statement.

    What that does not mention, or says in a form of its own, is left to servers of its version.
    """
    return [Difference(fact.name, fact.fatal) for fact in own if fact.name in other and _differs(fact, other)]


def _differs(fact: Fact, other: Mapping[str, Any]) -> bool:
    try:
        return fact.differs(other[fact.name])
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
