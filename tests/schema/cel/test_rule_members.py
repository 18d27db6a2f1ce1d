"""Messages, reasons, field paths and optional old values of rules (reference CRD-69)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.custom.rules import CelRules, rules_of
from orchtw.schema.custom.terms import ValidationTerms

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def rules(schema: dict[str, Any], **rule: Any) -> CelRules:
    """The one rule of an object's member `a`."""
    ruled = {**schema, "x-orch-validations": [rule]}
    found = rules_of({"type": "object", "properties": {"a": ruled}}, Naming.orch())
    assert found is not None
    return found


def told(found: CelRules, new: Any, old: Any = None) -> list[str]:
    """The causes for values of `a`, as text; `old` None: a create."""
    return [*map(str, found({"a": new}, None if old is None else {"a": old}))]


class MessageTests(SynchronousTestCase):
    def message(self, expression: str, value: Any = 7, **more: Any) -> str:
        """The message of a rule that does not hold, with this expression for it."""
        (text,) = told(rules(NUMBER, rule="self < 5", messageExpression=expression, **more), value)
        return text.removeprefix('a: Invalid value: "integer": ')

    def test_text(self) -> None:
        """The expression makes the message, trimmed, in place of the fixed one."""
        self.assertEqual(self.message("'is %d'.format([self])", message="fixed"), "is 7")
        self.assertEqual(self.message("' much '"), "much")

    def test_unusable(self) -> None:
        """Without a usable value the fixed message counts, and without that the rule."""
        for expression in ("''", "' '", "'a\\nb'", "string(1 / (self - 7))", "self + "):
            self.assertEqual(self.message(expression, message="fixed"), "fixed", expression)
            self.assertEqual(self.message(expression), "failed rule: self < 5", expression)

    def test_long(self) -> None:
        """A message of more than 5120 bytes is not shown."""
        schema = {**TEXT, "maxLength": 6000}
        found = rules(schema, rule="false", messageExpression="self")
        self.assertEqual(told(found, "x" * 5120), [f'a: Invalid value: "string": {"x" * 5120}'])
        self.assertEqual(told(found, "x" * 5121), ['a: Invalid value: "string": failed rule: false'])

    def test_old_value(self) -> None:
        """It may use the old value where the rule does."""
        found = rules(NUMBER, rule="self >= oldSelf", messageExpression="'was ' + string(oldSelf)")
        self.assertEqual(told(found, 1, 2), ['a: Invalid value: "integer": was 2'])


class ReasonTests(SynchronousTestCase):
    def test_types(self) -> None:
        """The reason is the type of the cause."""
        for reason, text in (
            ("FieldValueInvalid", 'a: Invalid value: "integer": no'),
            ("FieldValueForbidden", "a: Forbidden: no"),
            ("FieldValueRequired", "a: Required value: no"),
            ("FieldValueDuplicate", 'a: Duplicate value: "integer"'),
        ):
            found = rules(NUMBER, rule="self < 5", message="no", reason=reason)
            self.assertEqual(told(found, 7), [text])
            self.assertEqual([each.reason for each in found({"a": 7})], [reason])


class FieldPathTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """The path is appended to that of the value."""
        schema = {
            "type": "object",
            "properties": {
                "b": {"type": "object", "properties": {"x.y": NUMBER}},
                "m": {"type": "object", "additionalProperties": NUMBER},
            },
        }
        for path, field in ((".b", "a.b"), (".b['x.y']", "a.b.x.y"), (".m['k']", "a.m[k]"), (".m.k", "a.m[k]")):
            (cause,) = rules(schema, rule="false", fieldPath=path)({"a": {}})
            self.assertEqual(cause.field, field)

    def test_root(self) -> None:
        """A rule of the whole object reports the member alone."""
        schema = {
            "type": "object",
            "properties": {"a": NUMBER},
            "x-orch-validations": [{"rule": "false", "fieldPath": ".a"}],
        }
        found = rules_of(schema, Naming.orch())
        assert found is not None
        self.assertEqual([each.field for each in found({"a": 1})], ["a"])


class OptionalOldSelfTests(SynchronousTestCase):
    RULE = "!oldSelf.hasValue() || self >= oldSelf.value()"

    def test_create(self) -> None:
        """The rule also runs where there is no old value, which is then absent."""
        found = rules(NUMBER, rule="oldSelf.orValue(5) == self", optionalOldSelf=True)
        self.assertEqual(told(found, 5), [])
        self.assertEqual(len(told(found, 4)), 1)

    def test_update(self) -> None:
        """With an old value it is about the change."""
        found = rules(NUMBER, rule=self.RULE, optionalOldSelf=True)
        self.assertEqual((told(found, 3, 3), len(told(found, 2, 3))), ([], 1))

    def test_uncorrelated(self) -> None:
        """It runs on elements that cannot be told to be the same as any before."""
        items = {**NUMBER, "x-orch-validations": [{"rule": "!oldSelf.hasValue()", "optionalOldSelf": True}]}
        found = rules({"type": "array", "items": items}, rule="true")
        self.assertEqual(told(found, [1, 2], [1, 2]), [])


class RatchetingTests(SynchronousTestCase):
    def excused(self, found: CelRules, new: Any, old: Any) -> tuple[int, int]:
        """The number of causes, and that of the ones that are excused."""
        outcome = found.outcome({"a": new}, {"a": old}, ValidationTerms(ratchets=True))
        return len(outcome.causes), len(outcome.excused)

    def test_unchanged(self) -> None:
        """A rule that does not hold is excused where the value has not changed."""
        found = rules(NUMBER, rule="self > 1")
        self.assertEqual(self.excused(found, 1, 1), (0, 1))
        self.assertEqual(self.excused(found, 0, 1), (1, 0))

    def test_transitions(self) -> None:
        """A rule about a change is never excused, and neither is one that has no value."""
        self.assertEqual(self.excused(rules(NUMBER, rule="self > oldSelf"), 1, 1), (1, 0))
        self.assertEqual(self.excused(rules(NUMBER, rule="1 / (self - 1) > 0"), 1, 1), (1, 0))

    def test_uncorrelated(self) -> None:
        """An element without an old form is excused by the list around it, if that has not changed."""
        items = {**NUMBER, "x-orch-validations": [{"rule": "self > 1"}]}
        found = rules({"type": "array", "items": items}, rule="true")
        self.assertEqual(self.excused(found, [1, 2], [1, 2]), (0, 1))
        self.assertEqual(self.excused(found, [1, 3], [1, 2]), (1, 0))
