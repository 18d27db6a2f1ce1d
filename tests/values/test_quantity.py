"""Quantities come out in canonical form."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.quantity import Quantity, canonical_quantity
from tests.properties import examples

CANONICAL = {
    "1000m": "1",
    "0.5": "500m",
    "1024Ki": "1Mi",
    "1e3": "1e3",
    "1E3": "1e3",
    "1200e3": "1200e3",
    "1e4": "10e3",
    "100": "100",
    "1000": "1k",
    "1.5": "1500m",
    "1.5Gi": "1536Mi",
    "1Ki": "1Ki",
    "1023Ki": "1023Ki",
    "0.5Ki": "512",
    "0.25Mi": "256Ki",
    "0.0001Ki": "102400u",
    "1.1Ki": "1126400m",
    "0": "0",
    "0Ki": "0",
    "-0": "0",
    "+5": "5",
    "007": "7",
    ".5": "500m",
    "5.": "5",
    "-1.5Gi": "-1536Mi",
    "0.1n": "1n",
    "1.1n": "2n",
    "-1.1n": "-2n",
    "1e-12": "1e-9",
    "12E": "12E",
    "1000E": "1e21",
    "1e2147483646": "1e2147483646",
    "1e-2147483646": "1e-9",
    "9223372036854775808Ki": "9223372036854775807",
    "128974848": "128974848",
    "129e6": "129e6",
    "129M": "129M",
    "123Mi": "123Mi",
}
REFUSED = (
    *("", ".", "1 Mi", "1ki", "1KI", "m", "--1", "1e", "1e+", "1mm", "0x1", "NaN", "1_0"),
    *("1e99999999999", "\u0661", "9" * 300),
)

_TEXTS = st.builds(
    "".join, st.tuples(st.sampled_from(["", "-"]), st.from_regex("[0-9]{1,6}", fullmatch=True), st.sampled_from(
        ["", "n", "m", "k", "Ki", "Gi", "e3", ".5", ".05Mi", ".125M"]
    ))
)


class QuantityTests(SynchronousTestCase):
    def test_canonical_form(self) -> None:
        """No fraction, the largest unit that loses nothing, in the family it was written in (reference OBJ-18)."""
        for text, canonical in CANONICAL.items():
            self.assertEqual(canonical_quantity(text), canonical, text)

    def test_refused(self) -> None:
        """An invalid quantity raises ValueError, quickly whatever its exponent or length."""
        for text in REFUSED:
            self.assertRaises(ValueError, canonical_quantity, text)

    @examples(200)
    @given(
        st.from_regex(r"[+-]?[0-9]{1,18}(\.[0-9]{0,9})?", fullmatch=True),
        st.sampled_from(
            ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "e3", "E-3", "e+7"]
        ),
    )
    def test_fixed_point(self, number: str, unit: str) -> None:
        """The canonical form is a quantity of the same amount, and its own canonical form."""
        canonical = canonical_quantity(number + unit)
        self.assertEqual(canonical_quantity(canonical), canonical)
        self.assertEqual(_amount(Quantity.parse(canonical)), _amount(Quantity.parse(number + unit)))


    @examples(200)
    @given(_TEXTS, _TEXTS)
    def test_order(self, left: str, right: str) -> None:
        """Quantities compare as the amounts that they are, and know whether these are whole."""
        one, other = Quantity.parse(left), Quantity.parse(right)
        amount, another = _amount(one), _amount(other)
        self.assertEqual(one.compare(other), (amount > another) - (amount < another))
        self.assertEqual(one.whole, amount.denominator == 1)

    def test_order_of_the_largest(self) -> None:
        """A quantity with a huge exponent is not expanded."""
        large, larger = Quantity.parse("1e2147483646"), Quantity.parse("2e2147483646")
        self.assertEqual((large.compare(larger), larger.compare(large), large.compare(large)), (-1, 1, 0))
        self.assertEqual((larger.compare(Quantity.parse("1n")), Quantity.parse("-1e9999").compare(large)), (1, -1))
        self.assertTrue(large.whole)


def _amount(quantity: Quantity) -> Fraction:
    return quantity.mantissa * Fraction(10) ** quantity.exponent
