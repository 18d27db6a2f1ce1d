"""Metrics of authentication methods (reference METRIC-1, AUTHN-27, AUTHN-59)."""

from __future__ import annotations

from typing import Final

from orchtw.metrics.series import counters, histograms
from orchtw.metrics.token_cache import TokenCache

_HOUR_S, _DAY_S = 3600, 86400
BOUNDS_S: Final = (
    0, _HOUR_S // 2, _HOUR_S, 2 * _HOUR_S, 6 * _HOUR_S, 12 * _HOUR_S,
    _DAY_S, 2 * _DAY_S, 4 * _DAY_S, 7 * _DAY_S, 30 * _DAY_S, 90 * _DAY_S, 180 * _DAY_S, 360 * _DAY_S,
)  # fmt: skip
_PREFIX: Final = "serviceaccount_"


class LegacyTokenMetrics:
    """Counters of the uses of tokens kept in Secrets, by the origin of the Secret; `families` are all of them."""

    def __init__(self) -> None:
        manual = counters(f"{_PREFIX}legacy_manual_token_uses_total", "Uses of tokens in Secrets that users created.")
        generated = counters(f"{_PREFIX}legacy_auto_token_uses_total", "Uses of tokens in generated Secrets.")
        invalid = counters(
            f"{_PREFIX}invalid_legacy_auto_token_uses_total", "Refused uses of tokens in Secrets marked invalid."
        )
        self.families = (manual, generated, invalid)
        self.manual, self.generated, self.invalid = manual.of(), generated.of(), invalid.of()


class AuthenticationMetrics:
    """Counters of service account token uses, and a histogram of the remaining lifetime of client certificates.

    `cache` counts lookups of webhook tokens; `families` are all of them, for a registry.
    """

    def __init__(self) -> None:
        self.cache = TokenCache()
        legacy = counters(f"{_PREFIX}legacy_tokens_total", "Uses of service account tokens kept in Secrets.")
        stale = counters(f"{_PREFIX}stale_tokens_total", "Uses of tokens that should have been renewed.")
        valid = counters(f"{_PREFIX}valid_tokens_total", "Uses of valid tokens that are not due for renewal.")
        lifetimes = histograms(
            "apiserver_client_certificate_expiration_seconds",
            "Remaining lifetime of the client certificates of requests, in seconds.",
            BOUNDS_S,
        )
        self.families = (legacy, stale, valid, lifetimes, *self.cache.families)
        self.legacy_tokens, self.stale_tokens, self.valid_tokens = legacy.of(), stale.of(), valid.of()
        self._lifetimes = lifetimes.of()

    def certificate(self, left_s: float) -> None:
        """Observe the remaining lifetime of a request's client certificate."""
        self._lifetimes.observe(left_s)
