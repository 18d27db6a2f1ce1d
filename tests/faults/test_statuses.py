"""Errors of faults: the classes and texts of the real ones."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Conflict, Expired, StatusError
from orchtw.faults.rule import FaultRule
from orchtw.faults.statuses import error_of, too_old
from orchtw.request import RequestInfo
from tests.faults.test_rule import info

PUT = info("PUT", "/apis/apps/v1/namespaces/n/deployments/x")


def error(kind: str, asked: RequestInfo = PUT, version: str = "", **more: Any) -> StatusError:
    """The error of a rule."""
    return error_of(FaultRule(kind=kind, **more), asked, asked.name, version)


class ErrorTests(SynchronousTestCase):
    """Errors by kind (`error_of`)."""

    def test_conflict(self) -> None:
        """A conflict reads as the store's own."""
        expected = Conflict.modified("deployments", "apps", "x").to_status()
        self.assertEqual(error("conflict").to_status(), expected)

    def test_expired(self) -> None:
        """An expired list has the text of lists, an expired watch that of watches with the version asked for."""
        self.assertEqual(error("expired", info("GET", "pods")).to_status(), Expired.list().to_status())
        watch = info("GET", "pods", watch="1")
        for version, text in (("7", "7 (8)"), ("", "0 (1)"), ("x", "0 (1)"), ("9" * 5000, "0 (1)")):
            found = error("expired", watch, version)
            self.assertEqual((found.code, found.message), (410, f"too old resource version: {text}"))

    def test_throttled(self) -> None:
        """A 429 names the seconds to wait."""
        found = error("throttled", status=429, retry_after_s=3)
        self.assertEqual((found.code, found.reason, found.retry_after_s), (429, "TooManyRequests", 3))

    def test_failing(self) -> None:
        """Failures have the reasons of their codes; a wait is added to what details there are."""
        for code, reason in ((500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout")):
            found = error("failing", status=code)
            self.assertEqual((found.code, found.reason, found.retry_after_s), (code, reason, 0))
            self.assertEqual(error("failing", status=code, retry_after_s=9).retry_after_s, 9)
        details = error("failing", status=500, retry_after_s=9).details or {}
        self.assertEqual(sorted(details), ["causes", "retryAfterSeconds"])

    def test_message(self) -> None:
        """A rule's message takes the place of the usual one, everywhere."""
        for kind in ("conflict", "expired", "throttled", "failing"):
            self.assertEqual(error(kind, message="so it is").to_status()["message"], "so it is")
        self.assertEqual(too_old(FaultRule(kind="expired", message="gone"), 5).to_status()["message"], "gone")
        self.assertEqual(too_old(FaultRule(kind="expired"), 5).message, "too old resource version: 5 (6)")
