"""Service accounts by their tokens, those in Secrets and issued ones (reference AUTHN-23 to AUTHN-26)."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

import attrs

from orchtw.authn.method import AuthnHost, ShownCredentials, authenticated, common
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.claims import (
    Claims,
    Reference,
    bound_claims,
    legacy_claims,
    unverified_issuer,
    verified,
)
from orchtw.authn.service_accounts.issuing import USER_PREFIX, AccountTokens
from orchtw.authn.service_accounts.lookup import Bearer, ServiceAccountLookup
from orchtw.config import Config
from orchtw.errors import Unauthorized
from orchtw.naming.names import Naming
from orchtw.request import UserInfo
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

KEPT: Final = 4096
"""Tokens whose signature is remembered, about 2 KiB each."""

INVALIDATED: Final = "Token has been invalidated"


class TokenObjects(Protocol):
    """The objects that tokens depend on: see `ServiceAccountLookup`."""

    def find(self, plural: str, namespace: str, name: str) -> Entry | None:
        """The object's present state, or None."""

    def read(self, plural: str, entry: Entry) -> Bearer:
        """Return what the token check needs of an object's state."""

    def load(self, plural: str, entry: Entry) -> Object:
        """Decode the whole object."""

    def due(self, plural: str) -> Awaitable[None] | None:
        """Return what to await before an object counts as missing, or None."""


@attrs.define(slots=True, eq=False)
class _Known:
    """A token whose signature and form are right, with what was found out when it was last shown.

    `audiences` are those that it is meant for; `own`, which of them are this API's.
    """

    claims: Claims
    user: UserInfo
    audiences: Sequence[str]
    own: Sequence[str]
    seen: list[Bearer | None]


class ServiceAccountTokens:
    """Knows tokens again. Signatures are remembered; whether a token still counts is decided each time.

    `seconds` is the time since the epoch; `key` are 32 random bytes that digests of tokens are made with.
    """

    def __init__(
        self,
        settings: AccountTokens,
        objects: TokenObjects,
        seconds: Callable[[], float],
        key: bytes,
        metrics: AuthenticationMetrics,
    ) -> None:
        self._metrics = metrics
        self._naming = settings.naming
        self._keys = settings.keys
        self._issuers = frozenset(settings.issuers)
        self._audiences = tuple(settings.audiences)
        translate = settings.naming.translate
        self._legacy = translate("authentication.orch.io/legacy-token")
        self._stale = translate("authentication.orch.io/stale-token")
        self._looks_up = settings.lookup
        self._objects = objects
        self._seconds = seconds
        self._key = key
        self._known: dict[bytes, _Known] = {}

    def find(self, shown: ShownCredentials) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The account; None for what is no token of our issuers.

        Raises Unauthorized (401) for one that is, and does not count (any more).
        """
        token = shown.token
        digest = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._key, digest_size=32).digest()
        known = self._known.get(digest) or self._learn(token, digest)
        if known is None:
            return None
        accepted = known.own if shown.audiences == self._audiences else common(known.audiences, shown.audiences)
        if not accepted:
            raise Unauthorized("the service account token is for other audiences")
        shown.accepted = accepted
        self._check_times(known.claims)
        if self._holds(known, token):
            return self._used(known, shown)
        waits = [due for each in known.claims.references if (due := self._objects.due(each.plural)) is not None]
        if not waits:
            raise Unauthorized(INVALIDATED)
        return self._look_again(known, shown, waits)

    def _used(self, known: _Known, shown: ShownCredentials) -> UserInfo:
        """Note for audit what should not be used any more (reference AUTHN-27)."""
        claims = known.claims
        if claims.kept_in_secret:
            self._metrics.legacy_tokens += 1
            shown.annotations[self._legacy] = known.user.name
        elif claims.warns and (now := self._seconds()) > claims.warns:
            late_s = int(now) - int(claims.warns)
            self._metrics.stale_tokens += 1
            text = f"subject: {known.user.name}, seconds after warning threshold: {late_s}"
            shown.annotations[self._stale] = text
        elif claims.warns:
            self._metrics.valid_tokens += 1
        return known.user

    async def _look_again(self, known: _Known, shown: ShownCredentials, waits: Sequence[Awaitable[None]]) -> UserInfo:
        """Check again after the caches have caught up: another process may just have written the objects."""
        for each in waits:
            await each
        if not self._holds(known, shown.token):
            raise Unauthorized(INVALIDATED)
        return self._used(known, shown)

    def _learn(self, token: str, digest: bytes) -> _Known | None:
        issuer = unverified_issuer(token)
        legacy = issuer == self._naming.service_account_issuer
        if issuer is None or not (legacy or issuer in self._issuers):
            return None
        signed = verified(token, self._keys)
        claims = (legacy_claims if legacy else bound_claims)(signed, self._naming)
        if len(self._known) >= KEPT:
            self._known.pop(next(iter(self._known)))
        audiences = self._audiences if claims.audiences is None else claims.audiences
        own = common(audiences, self._audiences)
        known = _Known(claims, _user(claims, self._naming), audiences, own, [None] * len(claims.references))
        self._known[digest] = known
        return known

    def _check_times(self, claims: Claims) -> None:
        now = self._seconds()
        if claims.ends and now > claims.ends:
            raise Unauthorized("Token has expired.")
        if now < claims.begins:
            raise Unauthorized("the service account token is not valid yet")

    def _holds(self, known: _Known, token: str) -> bool:
        """Report whether every object that the token depends on exists."""
        claims = known.claims
        if claims.kept_in_secret and not self._looks_up:
            return True
        for index, reference in enumerate(claims.references):
            entry = self._objects.find(reference.plural, claims.namespace, reference.name)
            if entry is None:
                return False
            seen = known.seen[index]
            if seen is None or seen.entry is not entry:
                seen = self._looked_at(claims, reference, entry, token)
                if seen is None:
                    return False
                known.seen[index] = seen
            if seen.ends and self._seconds() > seen.ends:
                return False
        return True

    def _looked_at(self, claims: Claims, reference: Reference, entry: Entry, token: str) -> Bearer | None:
        """Return the checked state of an object; None if it does not carry the token."""
        found = self._objects.read(reference.plural, entry)
        if reference.uid and found.uid != reference.uid:
            return None
        if claims.kept_in_secret and reference.plural == "secrets":
            held = (self._objects.load("secrets", entry).get("data") or {}).get("token", "")
            if b64decode(held) != token.encode("utf-8", "surrogateescape"):
                return None
        return found


def _user(claims: Claims, naming: Naming) -> UserInfo:
    account, namespace = claims.references[0], claims.namespace
    extra: Mapping[str, tuple[str, ...]] = {}
    for each in claims.references:
        if each.plural == "pods":
            extra = {
                naming.translate("authentication.orch.io/pod-name"): (each.name,),
                naming.translate("authentication.orch.io/pod-uid"): (each.uid,),
            }
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    name = f"{USER_PREFIX}{namespace}:{account.name}"
    return authenticated(UserInfo(name=name, uid=account.uid, groups=groups, extra=extra))


def from_flags(host: AuthnHost, config: Config) -> ServiceAccountTokens:
    """The tokens that this server issues, and those by its other keys and issuers."""
    return ServiceAccountTokens(
        host.accounts, ServiceAccountLookup(host.targets), host.seconds, host.key, host.metrics
    )
