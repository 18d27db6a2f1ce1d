"""Literals of Go types (reference ERR-5)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.causes import Literal, go_time, invalid
from orchtw.values.go_literals import (
    METADATA,
    OWNER,
    SELECTOR,
    Form,
    as_amount,
    as_date,
    as_date_or_nil,
    as_flag,
    as_number,
    as_text,
    listed,
    pointer,
    shown,
    struct,
    untyped,
)


class FormTests(SynchronousTestCase):
    """Each form, of a value and of none."""

    def test_forms(self) -> None:
        """Values are shown as by Go's %#v."""
        port = struct("a.Port", Name=("name", as_text), Number=("number", pointer("int32", as_number)))
        cases: list[tuple[Form, object, str]] = [
            (as_text, 'a"b', '"a\\"b"'),
            (as_text, None, '""'),
            (as_number, 3, "3"),
            (as_number, None, "0"),
            (as_flag, True, "true"),
            (as_flag, None, "false"),
            (as_amount, "5%", 'intstr.IntOrString{Type:1, IntVal:0, StrVal:"5%"}'),
            (as_amount, 5, 'intstr.IntOrString{Type:0, IntVal:5, StrVal:""}'),
            (as_amount, None, 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}'),
            (as_date, None, "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"),
            (as_date, "2024-02-03T04:05:06Z", "time.Date(2024, time.February, 3, 4, 5, 6, 0, time.Local)"),
            (as_date_or_nil, None, "<nil>"),
            (listed("a.Word"), ["x", "y"], '[]a.Word{"x", "y"}'),
            (listed("a.Word"), [], "[]a.Word{}"),
            (listed("a.Word"), None, "[]a.Word(nil)"),
            (listed("a.Port", port), [{"name": "x"}], '[]a.Port{a.Port{Name:"x", Number:(*int32)(nil)}}'),
            (port, {"name": "x", "number": 3}, 'a.Port{Name:"x", Number:&3}'),
            (untyped, {"b": [1, "c", None], "a": True},
             'map[string]interface {}{"a":true, "b":[]interface {}{1, "c", interface {}(nil)}}'),
        ]  # fmt: skip
        for form, value, text in cases:
            self.assertEqual(form(value), text)

    def test_selector(self) -> None:
        """A label selector, empty and full."""
        none = "MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)"
        self.assertEqual(SELECTOR({}), f"v1.LabelSelector{{{none}}}")
        full = {"matchLabels": {"b": "c", "a": "b"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}  # fmt: skip
        self.assertEqual(
            SELECTOR(full),
            'v1.LabelSelector{MatchLabels:map[string]string{"a":"b", "b":"c"}, '
            'MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"k", Operator:"In", '
            'Values:[]string{"v"}}}}',
        )

    def test_owner_and_metadata(self) -> None:
        """All fields are there, in Go's order."""
        self.assertEqual(
            OWNER({"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}),
            'v1.OwnerReference{APIVersion:"v1", Kind:"Event", Name:"e", UID:"u", Controller:(*bool)(nil), '
            "BlockOwnerDeletion:(*bool)(nil)}",
        )
        self.assertTrue(METADATA({"name": "a"}).startswith('v1.ObjectMeta{Name:"a", GenerateName:"", Namespace:"", '))

    def test_bounded(self) -> None:
        """However much a client sends, the literal is short."""
        for form, value in ((listed("a.B"), ["x" * 5000] * 5000), (untyped, {str(n): n for n in range(5000)})):
            self.assertLess(len(form(value)), 4000)


class ShownTests(SynchronousTestCase):
    """Go literals in causes."""

    def test_cause(self) -> None:
        """They stand where the value does; what is absent is a quoted null, as in the release."""
        self.assertEqual(invalid("f", shown(listed("a.B"), ["x"]), "no").message, 'Invalid value: []a.B{"x"}: no')
        self.assertEqual(invalid("f", shown(SELECTOR, None), "no").message, 'Invalid value: "null": no')
        self.assertEqual(invalid("f", Literal("x"), "no").message, "Invalid value: x: no")

    def test_times(self) -> None:
        """Times have Go's usual form, fractions without zeros at their end."""
        for stamp, text in [
            ("2024-01-02T03:04:05Z", "2024-01-02 03:04:05 +0000 UTC"),
            ("2024-01-02T03:04:05.000600Z", "2024-01-02 03:04:05.0006 +0000 UTC"),
            ("2024-01-02T03:04:05.000000Z", "2024-01-02 03:04:05 +0000 UTC"),
            ("", "0001-01-01 00:00:00 +0000 UTC"),
        ]:
            self.assertEqual(go_time(stamp).text, text)
