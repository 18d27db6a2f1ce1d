"""Field sets that are parsed once for all objects that have them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec import known_fields
from orchtw.schema.codec.known_fields import LONGEST, KnownFields


def entries(*sets: str) -> bytes:
    """Return the text of managedFields with these sets."""
    return b"[" + b",".join(b'{"manager":"m","fieldsV1":' + each.encode() + b"}" for each in sets) + b"]"


def one(name: str) -> str:
    return f'{{"f:{name}":{{}}}}'


class KnownFieldsTests(SynchronousTestCase):
    def test_shared(self) -> None:
        """Equal sets are one value, whose text is known."""
        known = KnownFields()
        found = known.entries(entries(one("a"), one("a")))
        assert found is not None
        first, second = found
        self.assertIs(first["fieldsV1"], second["fieldsV1"])
        self.assertEqual(known.text_of(first["fieldsV1"]), one("a").encode())
        self.assertEqual(known.text_of({"f:b": {}}), b'{"f:b":{}}')

    def test_bounded(self) -> None:
        """The cache starts again before it has too many sets, or too much text."""
        for name, limit in (("REMEMBERED", 3), ("MAX_TEXT_BYTES", 3 * len(one("a")))):
            self.patch(known_fields, name, limit)
            known = KnownFields()
            for each in "abcd":
                known.entries(entries(one(each)))
            self.assertEqual(len(known._values), 1, name)
            self.assertEqual(len(known._texts), 1, name)

    def test_long(self) -> None:
        """A set with a very long text is not kept."""
        known = KnownFields()
        known.entries(entries(one("x" * LONGEST)))
        self.assertEqual(known._values, {})
