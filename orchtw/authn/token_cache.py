"""Cache of authentication results by token (reference AUTHN-6, AUTHN-37)."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from orchtw.errors import Unauthorized
from orchtw.request import UserInfo

TOKENS: Final = 20_000
"""Maximum number of verdicts of each kind: clients can send any number of different tokens."""

CHARACTERS: Final = 16 << 20
"""Limit, for each kind, of the total size of names and reasons, which the webhook chooses."""


class Refused(NamedTuple):
    """Verdict on an invalid token; `why` is for the log."""

    why: str


class Accepted(NamedTuple):
    """Verdict on a valid token: its user, and those of the requested audiences it is valid for."""

    user: UserInfo
    audiences: tuple[str, ...] = ()


Verdict = Accepted | Refused


class _Kept(NamedTuple):
    until: float
    verdict: Verdict
    characters: int


class _Shelf:
    """Verdicts of one kind, oldest first."""

    def __init__(self) -> None:
        self.kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._characters = 0

    def put(self, digest: bytes, kept: _Kept) -> None:
        self.drop(digest)
        self.kept[digest] = kept
        self._characters += kept.characters
        while len(self.kept) > TOKENS or self._characters > CHARACTERS:
            self.drop(next(iter(self.kept)))

    def clear(self) -> None:
        self.kept.clear()
        self._characters = 0

    def drop(self, digest: bytes) -> None:
        if (kept := self.kept.pop(digest, None)) is not None:
            self._characters -= kept.characters


class Verdicts:
    """Verdicts by keyed digest: no token is kept, and lookup times reveal nothing about one.

    `seconds` is the clock for their lifetimes. When there are too many, the oldest are dropped; accepted and refused
    tokens are limited separately, so that guesses cannot evict known users.
    """

    def __init__(self, key: bytes, seconds: Callable[[], float]) -> None:
        self._key = key
        self._seconds = seconds
        self._users, self._refused = _Shelf(), _Shelf()

    def __len__(self) -> int:
        return len(self._users.kept) + len(self._refused.kept)

    def digest(self, token: str, audiences: Sequence[str] = ()) -> bytes:
        """Return the digest of a token together with the requested audiences."""
        found = self._hash(token)
        if not audiences:
            return found
        parts = (found, *map(self._hash, audiences))
        return hashlib.blake2b(b"".join(parts), key=self._key, digest_size=32, person=b"audiences").digest()

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), key=self._key, digest_size=32).digest()

    def known(self, digest: bytes) -> Verdict | None:
        """Return the verdict for a digest, or None if it is unknown or has expired."""
        kept = self._users.kept.get(digest) or self._refused.kept.get(digest)
        if kept is None:
            return None
        if self._seconds() >= kept.until:
            self._drop(digest)
            return None
        return kept.verdict

    def keep(self, digest: bytes, verdict: Verdict, ttl_s: float) -> None:
        """Keep a verdict for `ttl_s` seconds; drop it if that is not positive or the verdict is too large."""
        self._drop(digest)
        characters = _characters(verdict)
        if ttl_s > 0 and characters <= CHARACTERS:
            shelf = self._refused if isinstance(verdict, Refused) else self._users
            shelf.put(digest, _Kept(self._seconds() + ttl_s, verdict, characters))

    def clear(self) -> None:
        """Drop all verdicts, as when a key they rest on is withdrawn."""
        self._users.clear()
        self._refused.clear()

    def _drop(self, digest: bytes) -> None:
        self._users.drop(digest)
        self._refused.drop(digest)


def accepted(verdict: Verdict) -> Accepted:
    """Return the user and audiences of a verdict. Raises Unauthorized (401) if the token was refused."""
    if isinstance(verdict, Refused):
        raise Unauthorized(verdict.why)
    return verdict


def _characters(verdict: Verdict) -> int:
    if isinstance(verdict, Refused):
        return len(verdict.why)
    user, audiences = verdict
    extra = sum(len(key) + sum(map(len, values)) + len(values) for key, values in user.extra.items())
    return len(user.name) + len(user.uid) + _lengths(user.groups) + _lengths(audiences) + extra


def _lengths(texts: Sequence[str]) -> int:
    return sum(map(len, texts)) + len(texts)
