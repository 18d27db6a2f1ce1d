"""Comma-separated records against the cases of the reference server's reader (Go's encoding/csv, nothing lenient)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.csv_records import MalformedRecord, records

# Text, and its records with the line on which each begins.
CASES: tuple[tuple[str, list[tuple[int, list[str]]]], ...] = (
    ("", []),
    ("\n\r\n\n", []),
    ("a,b,c", [(1, ["a", "b", "c"])]),
    ("a,b\nc,d\n", [(1, ["a", "b"]), (2, ["c", "d"])]),
    ("a,b\r\nc,d\r\n", [(1, ["a", "b"]), (2, ["c", "d"])]),
    ("a\r", [(1, ["a"])]),
    ("a\rb", [(1, ["a\rb"])]),
    (",\n", [(1, ["", ""])]),
    ("a,", [(1, ["a", ""])]),
    (" a , b ", [(1, [" a ", " b "])]),
    ("  \n", [(1, ["  "])]),
    ('"a,b",""', [(1, ["a,b", ""])]),
    ('"a""b"', [(1, ['a"b'])]),
    ('""""', [(1, ['"'])]),
    ('"a\r\nb",c\n\nd', [(1, ["a\nb", "c"]), (4, ["d"])]),
    ("#a,b", [(1, ["#a", "b"])]),
    ("a\u2028b\x85c\x0cd,e", [(1, ["a\u2028b\x85c\x0cd", "e"])]),
)
# Text, and the line on which it goes wrong.
MALFORMED = (('a"b,c', 1), ('a,"b"c', 1), ('a\n"b', 2), ('"a', 1), ('a, "b"', 1), ('"a\nb",c\n\nd"', 4))


class RecordsTests(SynchronousTestCase):
    """Records of CSV text (`records`)."""

    def test_records(self) -> None:
        """Well-formed text yields the expected records."""
        for text, wanted in CASES:
            self.assertEqual(list(records(text)), wanted, repr(text))

    def test_malformed(self) -> None:
        """A quote that begins or ends nothing is refused with its line."""
        for text, line in MALFORMED:
            error = self.assertRaises(MalformedRecord, lambda text=text: list(records(text)))
            self.assertTrue(str(error).startswith(f"line {line}: "), (text, error))

    def test_long_field(self) -> None:
        """Fields have no limit of their own."""
        field = "x" * 200_000
        self.assertEqual(list(records(f'{field},"{field}"')), [(1, [field, field])])
