"""The resourceVersion of a get (reference READ-3, READ-7)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.rules.resource_version import get_revision
from tests.rules.queries import params


class GetRevisionTests(SynchronousTestCase):
    """Parsing of resourceVersion (`get_revision`)."""

    def test_values(self) -> None:
        """Unset is the latest, a number is itself, anything else a 400 (reference READ-3, READ-7)."""
        self.assertEqual(get_revision({}), None)
        self.assertEqual(get_revision(params("resourceVersion=")), None)
        self.assertEqual(get_revision(params("resourceVersion=0")), 0)
        self.assertEqual(get_revision(params("resourceVersion=12")), 12)
        self.assertRaises(BadRequest, get_revision, params("resourceVersion=-1"))
        self.assertRaises(BadRequest, get_revision, params("resourceVersion=18446744073709551616"))
