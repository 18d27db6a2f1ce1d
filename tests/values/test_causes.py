"""Causes in the API's words (reference ERR-4)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Cause
from orchtw.values import causes


class GoQuoteTests(SynchronousTestCase):
    """Quoting as in Go (`go_quote` and `go_value`)."""

    def test_bytes(self) -> None:
        """Of many bytes the first are shown."""
        shown = causes.go_bytes(bytes(5000))
        self.assertTrue(shown.startswith("[]byte{0x0, 0x0, "))
        self.assertTrue(shown.endswith(", 0x0, ...}"))
        self.assertLess(len(shown), 500)

    def test_quotes(self) -> None:
        """Text is escaped as Go's %q does: short escapes, \\x for ASCII, \\u and \\U for what does not print."""
        for text, quoted in [
            ("a b", '"a b"'),
            ('a"b\\', '"a\\"b\\\\"'),
            ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
            ("\0\x7f", '"\\x00\\x7f"'),
            ("é☃", '"é☃"'),
            ("\u00ad\u2028\U000e0001", '"\\u00ad\\u2028\\U000e0001"'),
        ]:
            self.assertEqual(causes.go_quote(text), quoted)

    def test_values(self) -> None:
        """Numbers and booleans are plain, lists and maps of text Go literals, anything else JSON
        (reference ERR-5).
        """
        for value, text in [
            ("a", '"a"'),
            (5, "5"),
            (True, "true"),
            (None, '"null"'),
            (["a", "b"], '[]string{"a", "b"}'),
            ({"b": "1", "a": "c"}, 'map[string]string{"a":"c", "b":"1"}'),
            ([{"a": 1}], '[{"a":1}]'),
        ]:
            self.assertEqual(causes.go_value(value), text)


class CauseTests(SynchronousTestCase):
    """Constructors of causes and their texts."""

    def test_texts(self) -> None:
        """Each kind of cause has its word; required, forbidden and too long leave the value out (reference ERR-4)."""
        for made, reason, message in [
            (causes.invalid("f", "A", "bad"), "FieldValueInvalid", 'Invalid value: "A": bad'),
            (causes.invalid_bytes("f", b"-", "bad"), "FieldValueInvalid", "Invalid value: []byte{0x2d}: bad"),
            (causes.required("f"), "FieldValueRequired", "Required value"),
            (causes.required("f", "say it"), "FieldValueRequired", "Required value: say it"),
            (causes.duplicate("f", "A"), "FieldValueDuplicate", 'Duplicate value: "A"'),
            (
                causes.not_supported("f", "x", ("A", "B")),
                "FieldValueNotSupported",
                'Unsupported value: "x": supported values: "A", "B"',
            ),
            (causes.forbidden("f", "no"), "FieldValueForbidden", "Forbidden: no"),
            (causes.not_found("f", "x"), "FieldValueNotFound", 'Not found: "x"'),
            (causes.too_long("f", 7), "FieldValueTooLong", "Too long: must have at most 7 bytes"),
            (causes.too_many("f", 3, 2), "FieldValueTooMany", "Too many: 3: must have at most 2 items"),
        ]:
            self.assertEqual(made, Cause(reason, message, "f"))
