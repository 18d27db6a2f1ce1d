"""Parameters of any verb: `includeObject` and `timeout` (reference TABLE-4, REQ-18)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.rules.options import include_object, request_timeout_s
from tests.rules.queries import params


class OtherParametersTests(SynchronousTestCase):
    """Other parameters (`include_object` and `request_timeout_s`)."""

    def test_include_object(self) -> None:
        """Rows carry metadata by default; unknown words are a 400 (reference TABLE-4)."""
        self.assertEqual(include_object({}), "Metadata")
        self.assertEqual(include_object(params("includeObject=Object")), "Object")
        self.assertEqual(
            self.assertRaises(BadRequest, include_object, params("includeObject=Foo")).message,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', "
            "'Object', 'None', or empty",
        )

    def test_timeout(self) -> None:
        """A Go duration becomes seconds; absent, zero or negative means no timeout.

        Any other text is a 400 (reference REQ-18).
        """
        self.assertEqual(request_timeout_s(params("timeout=1m32s")), 92.0)
        for none in ("timeout=0s", "timeout=-1s", "timeout="):
            self.assertIsNone(request_timeout_s(params(none)))
        self.assertIsNone(request_timeout_s({}))
        for text in ("32", "x", "1s2"):
            error = self.assertRaises(BadRequest, request_timeout_s, params(f"timeout={text}"))
            self.assertEqual(error.message, "invalid timeout specified in the request URL")
