"""Every token of an issuer: algorithm, header, audience, time and signature (reference AUTHN-33, AUTHN-48)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orchtw.authn.compact import Compact
from orchtw.authn.oidc_claims import BadToken, Mapping
from orchtw.authn.oidc_keys import Key

UNSIGNED = "oidc: verify token: failed to verify signature: failed to verify id token signature"


class TokenRules:
    """Tokens may be signed by one of `algorithms`; `seconds` is the wall clock's."""

    def __init__(self, mapping: Mapping, algorithms: Iterable[str], seconds: Callable[[], float]) -> None:
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
    """Report whether a key has signed the token: the one that it names, or any if it names no key."""
    kid, algorithm = token.header.get("kid"), token.header["alg"]
    return any(key.verifies(token, algorithm) for key in keys if not kid or key.kid == kid)
