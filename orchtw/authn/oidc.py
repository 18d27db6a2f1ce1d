"""OpenID Connect: ID tokens of one issuer as bearer tokens (reference AUTHN-32, AUTHN-33)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from orchtw.authn.compact import Compact, compact
from orchtw.authn.method import Host
from orchtw.authn.oidc_claims import BadToken, Mapping
from orchtw.authn.oidc_keys import IssuerKeys, Key, Provider
from orchtw.authn.verdicts import Accepted, Verdicts, accepted
from orchtw.config import Config
from orchtw.errors import ConfigError, Unauthorized
from orchtw.outbound.policy import BadTLS, read_authorities
from orchtw.request import UserInfo

KEPT_S: Final = 10.0
"""How long a verified token is remembered, if it does not expire before: a signature takes 50 µs (AUTHN-6)."""

NOT_READY: Final = "oidc: authenticator not initialized"
UNSIGNED: Final = "oidc: verify token: failed to verify signature: failed to verify id token signature"


class IDTokens:
    """Verifies tokens of `mapping.issuer` that are signed by one of `algorithms`; `seconds` is the wall clock's."""

    def __init__(
        self,
        mapping: Mapping,
        algorithms: Sequence[str],
        keys: IssuerKeys,
        verdicts: Verdicts,
        seconds: Callable[[], float],
    ) -> None:
        self._mapping = mapping
        self._algorithms = frozenset(algorithms)
        self._keys = keys
        self._verdicts = verdicts
        self._seconds = seconds

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, None for a token of somebody else. Raises Unauthorized (401).

        A token whose key is not known waits until the issuer's keys have been looked at again.
        """
        digest = self._verdicts.digest(token)
        known = self._verdicts.known(digest)
        if known is not None:
            return accepted(known).user
        read = compact(token)
        if read is None or read.claims.get("iss") != self._mapping.issuer:
            return None
        self._check(read)
        if self._keys.keys is None:
            raise Unauthorized(NOT_READY)
        if not self._signed(read, self._keys.keys):
            return self._after_refresh(read, digest)
        return self._accept(read, digest)

    def _check(self, token: Compact) -> None:
        algorithm = token.header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise Unauthorized(f"oidc: verify token: oidc: unsupported signing algorithm {str(algorithm)[:20]!r}")
        if "crit" in token.header:
            raise Unauthorized("oidc: verify token: the token's header has a crit that is not known")
        try:
            self._mapping.check(token.claims, self._seconds())
        except BadToken as problem:
            raise Unauthorized(str(problem)) from None

    def _signed(self, token: Compact, keys: Sequence[Key]) -> bool:
        kid, algorithm = token.header.get("kid"), token.header["alg"]
        return any(key.verifies(token, algorithm) for key in keys if not kid or key.kid == kid)

    async def _after_refresh(self, token: Compact, digest: bytes) -> UserInfo:
        await self._keys.refreshed()
        if not self._signed(token, self._keys.keys or ()):
            raise Unauthorized(UNSIGNED)
        return self._accept(token, digest)

    def _accept(self, token: Compact, digest: bytes) -> UserInfo:
        try:
            user = self._mapping.user(token.claims)
        except BadToken as problem:
            raise Unauthorized(str(problem)) from None
        left_s = float(token.claims["exp"]) - self._seconds()
        self._verdicts.keep(digest, Accepted(user), min(KEPT_S, left_s))
        return user


def from_flags(host: Host, config: Config) -> IDTokens | None:
    """The issuer of `--oidc-issuer-url`, whose keys are fetched in the background. Raises ConfigError."""
    if not config.oidc_issuer_url:
        return None
    authorities = b"" if config.oidc_ca_file is None else _authorities(config.oidc_ca_file)
    provider = Provider(host.caller, config.oidc_issuer_url, authorities)
    keys = IssuerKeys(provider.fetch, host.clock)
    keys.setServiceParent(host.services)  # type: ignore[no-untyped-call]
    verdicts = Verdicts(host.key, host.clock.seconds)
    return IDTokens(Mapping.of(config), config.oidc_signing_algs, keys, verdicts, host.seconds)


def _authorities(path: Path) -> bytes:
    try:
        pem = path.read_bytes()
        read_authorities(pem)
    except OSError as error:
        raise ConfigError(f"--oidc-ca-file: {path}: {error.strerror}") from error
    except BadTLS as problem:
        raise ConfigError(f"--oidc-ca-file: {path}: {problem}") from None
    return pem
