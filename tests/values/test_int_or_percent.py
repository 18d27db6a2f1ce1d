"""Pod counts given as a number or a percentage (reference KIND-60)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.int_or_percent import amount, part_causes, share_causes


class AmountTests(SynchronousTestCase):
    def test_amounts(self) -> None:
        """The number, or that of the percentage, whatever its length; what is neither counts as nothing."""
        for value, expected in (
            (3, 3),
            (-3, -3),
            ("25%", 25),
            ("025%", 25),
            ("0%", 0),
            ("7", 7),
            ("-7", -7),
            ("+7", 7),
            ("", 0),
            ("%", 0),
            ("a%", 0),
            ("٣%", 0),
            (None, 0),
            ("0" * 10_000 + "5%", 5),
        ):
            self.assertEqual(amount(value), expected, value)
        self.assertGreater(amount("9" * 10_000 + "%"), 2**62)

    def test_forms(self) -> None:
        """A number is not negative, and a text is a percentage; a part is no more than the whole."""
        for value in (None, 0, 5, "0%", "100%", "0100%"):
            self.assertEqual(share_causes("f", value) + part_causes("f", value), [], value)
        for value in (-1, "", "5", "-5%", "5 %", "5%%"):
            self.assertEqual(len(share_causes("f", value)), 1, value)
            self.assertEqual(part_causes("f", value), [], value)
        for value in ("101%", "9" * 10_000 + "%"):
            (cause,) = part_causes("f", value)
            self.assertLess(len(cause.message), 2000)
