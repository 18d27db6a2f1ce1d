"""Authentication counters (reference METRIC-5, METRIC-8)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.authentication import Attempts
from orchtw.metrics.registry import Registry
from tests.metrics.asked import shown


class AttemptTests(SynchronousTestCase):
    def test_results(self) -> None:
        """Success, error for wrong credentials, failure for none, and how long they take."""
        registry = Registry()
        attempts = Attempts(registry, ())
        attempts.succeeded("a", 0.1)
        attempts.failed(wrong=True)
        attempts.failed(wrong=True)
        attempts.failed(wrong=False)
        attempts.took_in_vain(0.2)
        found = shown(registry, "authentication_attempts")
        self.assertEqual(found, {("success",): 1, ("error",): 2, ("failure",): 1})
        self.assertEqual(shown(registry, "authentication_duration_seconds"), {("success",): 1, ("failure",): 1})

    def test_users(self) -> None:
        """Users are counted by class: whatever their names are, they are not labels."""
        registry = Registry()
        attempts = Attempts(registry, ("admin", "orchlet"))
        for name in ("admin", "admin", "orchlet", "a@example.com", "b@example.com", "eve", "system:node:a"):
            attempts.succeeded(name, 0.1)
        self.assertEqual(
            shown(registry, "authenticated_user_requests"),
            {("admin",): 2, ("orchlet",): 1, ("email_id",): 2, ("other",): 2},
        )
