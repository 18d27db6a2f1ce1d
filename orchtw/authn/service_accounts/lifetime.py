"""Lifetime of issued tokens, extended for the default tokens of pods (reference AUTHN-30)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.authn.service_accounts.issuer import AccountTokens

WARNED_S: Final = 3607
"""Lifetime that node agents request for a pod's default token; an extended token is stale after it (AUTHN-30)."""
EXTENDED_S: Final = 365 * 24 * 3600


def token_lifetime(
    tokens: AccountTokens, asked_s: int, audiences: Sequence[str], *, pod_bound: bool
) -> tuple[int, int]:
    """Return the seconds until a token expires, and until its use is counted as stale (0: never)."""
    own = set(audiences) <= set(tokens.audiences)
    if tokens.extends and pod_bound and asked_s == WARNED_S and own:
        return EXTENDED_S, asked_s
    return asked_s, 0
