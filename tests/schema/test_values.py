"""Single values that no wire format brings, but a client inside the process may."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec.mismatch import Mismatch
from orchtw.schema.values import double_value


class DoubleTests(SynchronousTestCase):
    """Numbers read by `double_value`."""

    def test_beyond_doubles(self) -> None:
        """An integer that no double holds is refused as infinity is, whatever its length."""
        for value in (10**400, -(10**5000), float("inf"), float("nan")):
            self.assertRaises(Mismatch, double_value, value)
