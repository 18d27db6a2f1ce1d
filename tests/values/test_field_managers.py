"""Names of field managers (reference WRITE-18)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES
from orchtw.values.field_managers import FIELD_MANAGER_LIMIT_BYTES, entry_causes, field_manager_causes


class FieldManagerTests(SynchronousTestCase):
    def test_good_names(self) -> None:
        """Any text that prints is a name, up to 128 bytes."""
        for name in ("", "kubectl", "a b", "ä" * 64, "x" * FIELD_MANAGER_LIMIT_BYTES):
            self.assertEqual(field_manager_causes(name, "f"), [], name)

    def test_length_is_in_bytes(self) -> None:
        """128 bytes are the limit, however many characters they are."""
        for name in ("x" * 129, "ä" * 65):
            (cause,) = field_manager_causes(name, "f")
            self.assertEqual(cause.reason, "FieldValueTooLong")
            self.assertEqual((cause.field, cause.message), ("f", "Too long: must have at most 128 bytes"))

    def test_unprintable(self) -> None:
        """Each character that does not print is a cause, with its place in bytes."""
        causes = field_manager_causes("ä\tb\x7f", "f")
        self.assertEqual(
            [cause.message.partition(": ")[2].partition(": ")[2] for cause in causes],
            ["invalid character U+0009 (at position 2)", "invalid character U+007F (at position 4)"],
        )

    def test_lone_surrogate(self) -> None:
        """Half a surrogate pair, which JSON can carry, is one of them, and no failure."""
        (cause,) = field_manager_causes("\ud800", "f")
        self.assertIn("invalid character U+D800 (at position 0)", cause.message)

    def test_many(self) -> None:
        """A long row of them is not told to its end."""
        self.assertLess(len(field_manager_causes("\t" * 100_000, "f")), MAX_CAUSES + 3)


class EntryTests(SynchronousTestCase):
    def test_places(self) -> None:
        """A cause says which entry it is about; entries without a manager are fine."""
        managers: tuple[dict[str, Any], ...] = ({}, {"manager": "good"}, {"manager": "x" * 129}, {"manager": "\n"})
        causes = entry_causes([{"operation": "Update", **each} for each in managers], "meta.managed")
        self.assertEqual([cause.field for cause in causes], ["meta.managed[2].manager", "meta.managed[3].manager"])

    def test_unknown(self) -> None:
        """An entry with an unknown operation, an unknown form or too long a subresource has a cause."""
        for change, field in (
            ({"operation": "Delete"}, "operation"),
            ({"fieldsType": "FieldsV2"}, "fieldsType"),
            ({"subresource": "x" * 257}, "subresource"),
        ):
            (cause,) = entry_causes([{"operation": "Apply", "fieldsType": "FieldsV1", **change}], "f")
            self.assertEqual(cause.field, f"f[0].{field}")

    def test_many(self) -> None:
        """Thousands of bad entries are not told to their end."""
        self.assertLess(len(entry_causes([{"manager": "\n"}] * 100_000, "f")), MAX_CAUSES + 3)
