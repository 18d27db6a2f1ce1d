"""Checks common to all OIDC tokens: algorithm, header, audience, times, signature (reference AUTHN-33, AUTHN-48)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orchtw.authn.compact import Compact
from orchtw.authn.oidc_claims import BadToken, TokenMapping
from orchtw.authn.oidc_keys import Key

UNSIGNED = "oidc: verify token: failed to verify signature: failed to verify id token signature"


class TokenRules:
    """Checks of a token's header and claims; `algorithms` may sign, `seconds` returns the time since the epoch."""

    def __init__(self, mapping: TokenMapping, algorithms: Iterable[str], seconds: Callable[[], float]) -> None:
        self._mapping = mapping
        self._algorithms = frozenset(algorithms)
        self._seconds = seconds

    def check(self, token: Compact) -> None:
        """Check everything but the signature of the token. Raises BadToken."""
        algorithm = token.header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise BadToken(f"oidc: verify token: oidc: unsupported signing algorithm {str(algorithm)[:20]!r}")
        if "crit" in token.header:
            raise BadToken("oidc: verify token: the token's header has a crit that is not known")
        self._mapping.check(token.claims, self._seconds())


def is_signed(token: Compact, keys: Sequence[Key]) -> bool:
    """Report whether one of the keys signed the token: only the one it names, or any if it names none."""
    kid, algorithm = token.header.get("kid"), token.header["alg"]
    return any(key.verifies(token, algorithm) for key in keys if not kid or key.kid == kid)
