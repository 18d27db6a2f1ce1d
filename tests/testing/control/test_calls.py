"""Requests of tests to their server, and what they read in the answers."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.calls import fault_rule, missing, recorded, watch_error


class CallTests(SynchronousTestCase):
    """Fault rules and errors in their JSON."""

    def test_fault_rules(self) -> None:
        """Collections become lists, and what is not given is left out."""
        self.assertEqual(fault_rule({"verbs": ("get",), "count": 2, "name": None}), {"verbs": ["get"], "count": 2})

    def test_errors(self) -> None:
        """The line of an error raises it, with its code."""
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        line = json.dumps({"type": "ERROR", "object": status}).encode()
        self.assertEqual(self.assertRaises(ApiError, recorded, line).code, 410)
        self.assertEqual([missing(watch_error({"code": code})) for code in (404, 410)], [True, False])
