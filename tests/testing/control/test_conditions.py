"""Conditions of `eventually` (`orchtw.testing.control.conditions`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.control.conditions import arranged, not_yet


class ArrangedTests(SynchronousTestCase):
    """Arguments of a wait."""

    def arranged(self, condition: object, predicate: Any = bool, timeout_s: float | None = None, **more: bool) -> Any:
        """Return what is made of the arguments of a blocking wait."""
        options = {"asynchronous": False, "selectors": False, **more}
        return arranged(condition, predicate, timeout_s, 30.0, **options)

    def test_timeouts(self) -> None:
        """A number in the predicate's place is the timeout; without any, the default is."""
        self.assertEqual(self.arranged("pods", 5), (bool, 5))
        self.assertEqual(self.arranged("pods"), (bool, 30.0))
        self.assertEqual(self.arranged("pods", len, 2.5), (len, 2.5))

    def test_mistakes(self) -> None:
        """A wait that could never be met is a TypeError at once."""
        for arguments, text in (
            (("pods", 5, 6.0), "given twice"),
            (("pods", "Ready"), "must be a function"),
            ((lambda: True,), "must take one argument"),
            ((lambda read: True, len), "only a timeout"),
            (("pods", bool, "soon"), "number of seconds"),
        ):
            self.assertIn(text, str(self.assertRaises(TypeError, self.arranged, *arguments)))


class NotYetTests(SynchronousTestCase):
    """Exceptions of a condition."""

    def test_not_found(self) -> None:
        """The "not found" of any client library means "not yet", other errors of the API do not."""
        for place in ({"status": 404}, {"code": 404}, {"response": SimpleNamespace(status_code=404)}):
            error = Exception()
            error.__dict__.update(place)
            self.assertTrue(not_yet(error), place)
        refused = Exception()
        refused.__dict__["status"] = 403
        self.assertFalse(not_yet(refused))

    def test_unmet(self) -> None:
        """A missing key and a failed assertion mean "not yet"."""
        self.assertTrue(not_yet(KeyError("status")) and not_yet(AssertionError()))
        self.assertFalse(not_yet(ValueError()))
