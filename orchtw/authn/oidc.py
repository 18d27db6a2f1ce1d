"""OpenID Connect: one issuer's ID tokens as bearer tokens (reference AUTHN-32, AUTHN-33)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from twisted.application.service import MultiService

from orchtw.authn.compact import Compact, compact
from orchtw.authn.distributed_claims import ClaimSource, DistributedClaims, OtherIssuers, source_of
from orchtw.authn.method import AuthnHost
from orchtw.authn.oidc_claims import BadToken, Mapping, TokenMapping
from orchtw.authn.oidc_keys import IssuerKeys, Provider
from orchtw.authn.oidc_rules import UNSIGNED, TokenRules, is_signed
from orchtw.authn.shared_calls import SharedCalls
from orchtw.authn.token_cache import Accepted, Verdicts, accepted
from orchtw.authn.validity import FOREIGN, Validity
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import ConfigError, Unauthorized
from orchtw.outbound.policy import BadTLS, read_authorities
from orchtw.request import UserInfo
from orchtw.wire.objects import Object

KEPT_S: Final = 10.0
"""Longest time a verified token stays cached: verifying a signature takes 50 µs (AUTHN-6)."""

NOT_READY: Final = "oidc: authenticator not initialized"


class IDTokens:
    """Authenticator for ID tokens of `mapping.issuer`; `distributed` resolves a groups claim held elsewhere."""

    def __init__(
        self,
        mapping: TokenMapping,
        rules: TokenRules,
        keys: IssuerKeys,
        distributed: DistributedClaims,
        verdicts: Verdicts,
        seconds: Callable[[], float],
    ) -> None:
        self._mapping = mapping
        self._rules = rules
        self._keys = keys
        self._distributed = distributed
        self._verdicts = verdicts
        self._seconds = seconds
        self._calls: SharedCalls[bytes, UserInfo] = SharedCalls()

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None for a token of another issuer. Raises Unauthorized (401).

        The result is an awaitable if no known key verifies the token, until the issuer's keys are refreshed, and if
        its groups are a distributed claim, until that is fetched.
        """
        digest = self._verdicts.digest(token)
        known = self._verdicts.known(digest)
        if known is not None:
            return accepted(known).user
        read = compact(token)
        if read is None or read.claims.get("iss") != self._mapping.issuer:
            return None
        try:
            self._rules.check(read)
            if self._keys.keys is None:
                raise Unauthorized(NOT_READY)
            if not is_signed(read, self._keys.keys):
                return self._after_refresh(read, digest)
            return self._accept(read, digest)
        except BadToken as problem:
            raise Unauthorized(str(problem)) from None

    def take_keys_of(self, other: IDTokens) -> None:
        """Begin with the keys that another authenticator of the issuer knows, until they have been fetched."""
        self._keys.keys = other._keys.keys

    def lasts(self, token: str) -> Validity | None:
        """Have the issuer's tokens looked at each time, see `lasting.LastingPlainTokens`."""
        read = compact(token)
        return FOREIGN if read is None or read.claims.get("iss") != self._mapping.issuer else None

    async def _after_refresh(self, token: Compact, digest: bytes) -> UserInfo:
        await self._keys.refreshed()
        if not is_signed(token, self._keys.keys or ()):
            raise Unauthorized(UNSIGNED)
        try:
            found = self._accept(token, digest)
        except BadToken as problem:
            raise Unauthorized(str(problem)) from None
        return found if isinstance(found, UserInfo) else await found

    def _accept(self, token: Compact, digest: bytes) -> UserInfo | Awaitable[UserInfo]:
        source = source_of(token.claims, self._mapping.groups_claim)
        if source is not None:
            return self._calls.result(digest, lambda: self._expanded(token, source, digest))
        return self._believed(token.claims, digest)

    async def _expanded(self, token: Compact, source: ClaimSource, digest: bytes) -> UserInfo:
        """Return the user with fetched groups; the token's own key may have been withdrawn meanwhile."""
        try:
            found = await self._distributed.value(source)
            if not is_signed(token, self._keys.keys or ()):
                raise Unauthorized(UNSIGNED)
            return self._believed({**token.claims, self._mapping.groups_claim: found}, digest)
        except BadToken as problem:
            raise Unauthorized(str(problem)) from None

    def _believed(self, claims: Object, digest: bytes) -> UserInfo:
        user = self._mapping.user(claims)
        left_s = float(claims["exp"]) - self._seconds()
        self._verdicts.keep(digest, Accepted(user), min(KEPT_S, left_s))
        return user


def from_flags(host: AuthnHost, options: AuthenticationOptions) -> IDTokens:
    """Return the authenticator of `--oidc-issuer-url`; its keys are fetched in the background.

    Raises ConfigError for a bad `--oidc-ca-file`.
    """
    authorities = b"" if options.oidc.ca_file is None else _authorities(options.oidc.ca_file)
    return id_tokens(host, Mapping.of(options.oidc), options.oidc.signing_algs, authorities, host.services)


def id_tokens(
    host: AuthnHost,
    mapping: TokenMapping,
    algorithms: Sequence[str],
    authorities: bytes,
    services: MultiService,
    discovery_url: str = "",
) -> IDTokens:
    """Return the authenticator of one issuer; its keys are fetched by children of `services`.

    `authorities` are its CAs (PEM; empty: the system's), `discovery_url` is its document's if that is elsewhere.
    """
    provider = Provider(host.caller, mapping.issuer, authorities, discovery_url)
    verdicts = Verdicts(host.key, host.clock.seconds)
    keys = IssuerKeys(provider.fetch, host.clock, verdicts.clear)
    keys.setServiceParent(services)  # type: ignore[no-untyped-call]
    rules = TokenRules(mapping, algorithms, host.seconds)
    own = mapping.issuer, keys
    issuers = OtherIssuers(host.caller, authorities, host.clock, services, own, verdicts.clear)
    distributed = DistributedClaims(mapping.groups_claim, host.caller, authorities, rules, issuers)
    return IDTokens(mapping, rules, keys, distributed, verdicts, host.seconds)


def _authorities(path: Path) -> bytes:
    try:
        pem = path.read_bytes()
        read_authorities(pem)
    except OSError as error:
        raise ConfigError(f"--oidc-ca-file: {path}: {error.strerror}") from error
    except BadTLS as problem:
        raise ConfigError(f"--oidc-ca-file: {path}: {problem}") from None
    return pem
