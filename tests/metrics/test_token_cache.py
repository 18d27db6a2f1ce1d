"""Cache counters of external tokens (reference METRIC-5)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Unauthorized
from orchtw.metrics.registry import Registry
from orchtw.metrics.token_cache import TokenCache
from tests.metrics.asked import shown

PREFIX = "authentication_token_cache_"


class TokenCacheTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.cache, self.registry = TokenCache(), Registry()
        for family in self.cache.families:
            self.registry.add(family)

    def shown(self, name: str) -> dict[tuple[str, ...], float]:
        return shown(self.registry, f"{PREFIX}{name}")

    def test_hits(self) -> None:
        """A cached token counts as a hit that takes no time."""
        self.cache.hit()
        self.assertEqual(self.shown("request_total"), {("hit",): 1})
        self.assertEqual(self.shown("request_duration_seconds"), {("hit",): 1})

    def test_misses(self) -> None:
        """The first caller counts as fetching and callers sharing its answer as blocked, for one request."""
        answer: Deferred[int] = Deferred()
        first = Deferred.fromCoroutine(self.cache.missed(answer, shared=False))
        other: Deferred[int] = Deferred()
        second = Deferred.fromCoroutine(self.cache.missed(other, shared=True))
        self.assertEqual(self.shown("active_fetch_count"), {("fetching",): 1, ("blocked",): 1})
        answer.callback(1)
        other.callback(1)
        self.assertEqual((self.successResultOf(first), self.successResultOf(second)), (1, 1))
        self.assertEqual(self.shown("active_fetch_count"), {})
        self.assertEqual(self.shown("fetch_total"), {("ok",): 1})
        self.assertEqual(self.shown("request_total"), {("miss",): 2})

    def test_errors(self) -> None:
        """A question without an answer is an error."""
        answer: Deferred[int] = Deferred()
        asking = Deferred.fromCoroutine(self.cache.missed(answer, shared=False))
        answer.errback(Unauthorized())
        self.failureResultOf(asking, Unauthorized)
        self.assertEqual(self.shown("fetch_total"), {("error",): 1})
