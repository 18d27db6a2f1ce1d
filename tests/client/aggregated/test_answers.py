"""Refusals by aggregated API servers, as the release's clients read them (reference AGG-17)."""

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.aggregated.answers import LONGEST, of_status, refusal
from orchtw.errors import AlreadyExists, Conflict, Expired, InternalError, NotFound, ServiceUnavailable, StatusError


class RefusalTests(SynchronousTestCase):
    def refused(self, code: int, body: object) -> StatusError:
        return refusal(code, body if isinstance(body, bytes) else orjson.dumps(body))

    def test_status(self) -> None:
        """A Status says what it is: reason before code, its own message and details."""
        status = {"kind": "Status", "message": "m", "reason": "AlreadyExists", "code": 409, "details": {"name": "x"}}
        error = self.refused(409, status)
        self.assertIsInstance(error, AlreadyExists)
        self.assertEqual((error.message, error.details), ("m", {"name": "x"}))
        self.assertIsInstance(self.refused(409, {"kind": "Status", "code": 409}), Conflict)
        self.assertIsInstance(self.refused(404, {"kind": "Status"}), NotFound)

    def test_no_status(self) -> None:
        """Anything else is worded by its code."""
        error = self.refused(503, b"service unavailable\n")
        self.assertIsInstance(error, ServiceUnavailable)
        self.assertEqual(error.message, "the server is currently unable to handle the request")
        self.assertEqual(self.refused(404, b"404").message, "the server could not find the requested resource")
        text = 'an error on the server ("oh") has prevented the request from succeeding'
        self.assertEqual((self.refused(500, b"oh\n").code, self.refused(500, b"oh\n").message), (500, text))

    def test_hostile(self) -> None:
        """Statuses of odd types and lengths cause no trouble."""
        for status in (
            {"kind": "Status", "message": 1, "reason": ["x"], "code": "y", "details": []},
            {"kind": "Status", "message": "m" * 100_000, "code": True},
        ):
            error = self.refused(599, status)
            self.assertIsInstance(error, InternalError)
            self.assertLessEqual(len(error.message), LONGEST)

    def test_event(self) -> None:
        """A 410 of an ERROR event is Expired: a new list is due."""
        for status in ({"code": 410, "reason": "Gone"}, {"code": 410, "reason": "Expired"}, {"code": 410}):
            self.assertIsInstance(of_status(status), Expired)
