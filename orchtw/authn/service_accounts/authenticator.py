"""Authentication of service account tokens, both issued and kept in Secrets (reference AUTHN-23 to AUTHN-26)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from orchtw.authn.audiences import common
from orchtw.authn.method import AuthnHost, ShownToken, TokenUses, authenticated
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.claims import (
    USER_PREFIX,
    Claims,
    Reference,
    bound_claims,
    legacy_claims,
    unverified_issuer,
    verified,
)
from orchtw.authn.service_accounts.issuer import AccountTokens, credential_id
from orchtw.authn.service_accounts.token_objects import Bearer, TokenObjects
from orchtw.authn.validity import FOREIGN, Validity
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import InternalError, Unauthorized
from orchtw.request import UserInfo

KEPT: Final = 4096
"""Maximum number of verified tokens kept, about 2 KiB each."""

INVALIDATED: Final = "Token has been invalidated"


class _Known(msgspec.Struct, eq=False):
    """A token with a verified signature and valid claims.

    `audiences` are those it is valid for, `own` those of them that are this API's. `seen` is the last checked state
    of each of the token's references.
    """

    claims: Claims
    user: UserInfo
    audiences: Sequence[str]
    own: Sequence[str]
    seen: list[Bearer | None]


class ServiceAccountTokens:
    """Authenticator for service account tokens. Signature checks are cached; times and objects are checked each time.

    `seconds` returns the time since the epoch; `key` is 32 random bytes, for the digests of tokens. `uses` is told of
    uses of tokens in Secrets that are looked up.
    """

    def __init__(
        self,
        settings: AccountTokens,
        objects: TokenObjects,
        seconds: Callable[[], float],
        key: bytes,
        metrics: AuthenticationMetrics,
        uses: TokenUses | None = None,
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
        self._uses = uses if settings.lookup else None
        self._settings = settings
        self._bearers = objects.bearers
        self._in_secrets = objects.in_secrets
        self._seconds = seconds
        self._key = key
        self._known: dict[bytes, _Known] = {}

    def find(self, shown: ShownToken) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the account's user; None if the token is not from one of our issuers.

        Raises Unauthorized (401) for a token of theirs that is invalid, expired or revoked.
        """
        token = shown.token
        digest = self._digest(token)
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
        waits = [due for each in known.claims.references if (due := self._bearers[each.plural].due()) is not None]
        if not waits:
            raise Unauthorized(INVALIDATED)
        return self._look_again(known, shown, waits)

    def lasts(self, shown: ShownToken) -> Validity | None:
        """Hold while the token's time lasts and its objects exist, see `LastingTokens`.

        Tokens whose use is noted for audit are looked at each time.
        """
        known = self._known.get(self._digest(shown.token))
        if known is None:
            issuer = unverified_issuer(shown.token)
            ours = issuer == self._naming.service_account_issuer or issuer in self._issuers
            return None if ours else FOREIGN
        claims, valid = known.claims, self._metrics.valid_tokens
        if claims.kept_in_secret or not known.own or shown.audiences != self._audiences:
            return None

        def count() -> None:
            valid.value += 1

        used = (count,) if claims.warns else ()
        return Validity(known=True, stands=(lambda: self._still_counts(known),), used=used)

    def _still_counts(self, known: _Known) -> bool:
        """Report whether a token without a Secret is good, and not so old that its use is noted."""
        claims, now = known.claims, self._seconds()
        if now < claims.begins or (claims.ends and now > claims.ends) or (claims.warns and now > claims.warns):
            return False
        return self._holds(known, "")

    def _digest(self, token: str) -> bytes:
        return hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._key, digest_size=32).digest()

    def _used(self, known: _Known, shown: ShownToken) -> UserInfo:
        """Count the use, and annotate the audit event of a legacy or stale token (reference AUTHN-27, AUTHN-65)."""
        claims = known.claims
        if claims.kept_in_secret:
            if self._uses is not None and (secret := known.seen[1]) is not None:
                self._uses.used(claims, secret.uid, shown)
            self._metrics.legacy_tokens.value += 1
            shown.annotations[self._legacy] = known.user.name
        elif claims.warns and (now := self._seconds()) > claims.warns:
            late_s = int(now) - int(claims.warns)
            self._metrics.stale_tokens.value += 1
            text = f"subject: {known.user.name}, seconds after warning threshold: {late_s}"
            shown.annotations[self._stale] = text
        elif claims.warns:
            self._metrics.valid_tokens.value += 1
        return known.user

    async def _look_again(self, known: _Known, shown: ShownToken, waits: Sequence[Awaitable[None]]) -> UserInfo:
        """Check again once the caches are up to date: another process may just have written the objects."""
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
        known = _Known(claims, self._user(claims), audiences, own, [None] * len(claims.references))
        self._known[digest] = known
        return known

    def _user(self, claims: Claims) -> UserInfo:
        """Return the account's user, whose extra attributes name the token's pod, node and id."""
        account, namespace, settings = claims.references[0], claims.namespace, self._settings
        found: dict[str, str] = {}
        for each in claims.references:
            if each.plural == "pods":
                found |= {"pod-name": each.name, "pod-uid": each.uid}
        if settings.credential_ids and claims.token_id:
            found["credential-id"] = credential_id(claims.token_id)
        if settings.node_info or settings.binds_nodes:
            found |= {key: value for key, value in zip(("node-name", "node-uid"), claims.node, strict=True) if value}
        translate = self._naming.translate
        extra = {translate(f"authentication.orch.io/{key}"): (value,) for key, value in sorted(found.items())}
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        name = f"{USER_PREFIX}{namespace}:{account.name}"
        return authenticated(UserInfo(name=name, uid=account.uid, groups=groups, extra=extra))

    def _check_times(self, claims: Claims) -> None:
        now = self._seconds()
        if claims.ends and now > claims.ends:
            raise Unauthorized("Token has expired.")
        if now < claims.begins:
            raise Unauthorized("the service account token is not valid yet")

    def _holds(self, known: _Known, token: str) -> bool:
        """Report whether every object that the token depends on exists and still validates it."""
        claims = known.claims
        if claims.kept_in_secret and not self._looks_up:
            return True
        for index, reference in enumerate(claims.references):
            try:
                bearer = self._bearers[reference.plural].get(claims.namespace, reference.name)
            except InternalError:  # it cannot be read
                return False
            if bearer is None:
                return False
            if known.seen[index] is not bearer:
                if not self._validates(claims, reference, bearer, token):
                    return False
                known.seen[index] = bearer
            if bearer.ends and self._seconds() > bearer.ends:
                return False
        return True

    def _validates(self, claims: Claims, reference: Reference, bearer: Bearer, token: str) -> bool:
        """Report whether an object has the uid in the token and, if it is the token's Secret, holds the token."""
        if reference.uid and bearer.uid != reference.uid:
            return False
        if not claims.kept_in_secret or reference.plural != "secrets":
            return True
        held = self._in_secrets.get(claims.namespace, reference.name)
        return held == token.encode("utf-8", "surrogateescape")


def from_flags(host: AuthnHost, options: AuthenticationOptions) -> ServiceAccountTokens:
    """Return the authenticator for tokens of this server and of its other keys and issuers."""
    objects = TokenObjects.of(host.targets)
    return ServiceAccountTokens(host.accounts, objects, host.seconds, host.key, host.metrics, host.uses)
