"""The id of a request: the client's own where that can do no harm (reference REQ-22)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.audit_id import LONGEST, audit_id

UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


class AuditIdTests(SynchronousTestCase):
    """Audit IDs of requests (`audit_id`)."""

    def test_asked(self) -> None:
        """An id of visible characters is taken whole (reference REQ-22)."""
        for asked in ("mine", "ab620636-3a5e", "a/b:c=d,e;f{g}", "x" * LONGEST):
            self.assertEqual(audit_id(asked), asked)

    def test_not_taken(self) -> None:
        """One that is empty, too long, or could pass for something else in a log is replaced, not cut."""
        forged = ("a b", 'a" resp=200', "a\\", "a\tb", "a\x1b[0m", "a\x85b", "\xe9", "a\n")
        for asked in ("", "x" * (LONGEST + 1), *forged):
            self.assertRegex(audit_id(asked), UUID)
