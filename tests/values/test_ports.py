"""Numbers and names of ports (reference KIND-34)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.ports import port_name, port_number


class PortTests(SynchronousTestCase):
    def test_numbers(self) -> None:
        """From 1 to 65535."""
        self.assertEqual([port_number(value) for value in (1, 65535)], [(), ()])
        for value in (0, -1, 65536):
            self.assertEqual(port_number(value), ("must be between 1 and 65535, inclusive",))

    def test_names(self) -> None:
        """Up to 15 letters, digits and single dashes within."""
        for value in ("a", "http", "p1-2-3", "1a", "a" * 15):
            self.assertEqual(port_name(value), (), value)
        for value, count in (("", 2), ("1", 1), ("A", 2), ("a--b", 1), ("-a", 1), ("a-", 1), ("a" * 16, 1)):
            self.assertEqual(len(port_name(value)), count, value)
