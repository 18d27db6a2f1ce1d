"""Metrics of authentication (reference METRIC-5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import OTHER, Number, counters, doubling, histograms

SUCCESS, FAILURE, ERROR = "success", "failure", "error"

FILTERS_S: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5)
_E_MAIL: Final = "email_id"


class Attempts:
    """Metrics of authentications; users only by class, since there may be any number of them.

    `names` are the users that are counted by name. `authorization` measures the next stage.
    """

    def __init__(self, registry: Registry, names: tuple[str, ...]) -> None:
        attempts = registry.add(counters(
            "authentication_attempts",
            "Authentication attempts: success, error (wrong credentials) or failure (no credentials).",
            ("result",)))  # fmt: skip
        users = registry.add(counters("authenticated_user_requests", "Requests by class of user.", ("username",)))
        durations = registry.add(histograms(
            "authentication_duration_seconds", "Authentication latency in seconds.", doubling(0.001, 15),
            ("result",)))  # fmt: skip
        self._filter = registry.add(histograms(
            "apiserver_request_filter_duration_seconds", "Latency of a filter in seconds.",
            FILTERS_S, ("filter",)))  # fmt: skip
        self._authentication, self.authorization = map(self._filter.of, ("authentication", "authorization"))
        self._succeeded = attempts.of(SUCCESS)
        self._failed = {result: attempts.of(result) for result in (FAILURE, ERROR)}
        self._durations = durations.of(SUCCESS)
        self._failures = durations.of(FAILURE)
        self._names = {name: users.of(name) for name in names}
        self._addresses, self._others = users.of(_E_MAIL), users.of(OTHER)

    def succeeded(self, name: str, seconds: float) -> None:
        """Count a request whose user is known."""
        self._succeeded.value += 1
        self._durations.observe(seconds)
        self._authentication.observe(seconds)
        self._users_of(name).value += 1

    def again(self, name: str) -> Callable[[], None]:
        """Return what counts further requests of a user who is known at once, as `succeeded` does."""
        numbers = self._succeeded, self._users_of(name)
        histograms = self._durations, self._authentication

        def count() -> None:
            for number in numbers:
                number.value += 1
            for histogram in histograms:
                histogram.counts[0] += 1

        return count

    def _users_of(self, name: str) -> Number:
        return self._names.get(name) or (self._addresses if "@" in name else self._others)

    def took_in_vain(self, seconds: float) -> None:
        """Record the duration of a failed authentication."""
        self._failures.observe(seconds)

    def failed(self, wrong: bool) -> None:
        """Count a request without a user: its credentials were `wrong`, or it has none where some are needed."""
        self._failed[ERROR if wrong else FAILURE].value += 1
