"""The cost that definitions are held to, by the current release's rules (reference CRD-32)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.cel.cost import UNBOUNDED
from orchtw.schema.cel.verdict import RuleVerdict
from orchtw.schema.custom.rules import Judge

INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
SHORT = {"type": "string", "maxLength": 10}
INTEGERS = {"type": "array", "items": INTEGER, "maxItems": 5}
TEXTS = {"type": "array", "items": SHORT, "maxItems": 5}
LABELS = {"type": "object", "additionalProperties": SHORT, "maxProperties": 8}
OBJECT = {"type": "object", "properties": {"a": SHORT, "n": INTEGER, "list": INTEGERS}}


def verdict(schema: dict[str, Any], rule: str) -> RuleVerdict:
    """Verdicts on rules before they run."""
    return Judge(schema, Naming.orch(), names_itself=False).verdict(rule)


class EstimateTests(SynchronousTestCase):
    def check(self, *cases: tuple[dict[str, Any], str, int]) -> None:
        for schema, rule, cost in cases:
            found = verdict(schema, rule)
            self.assertEqual((found.fault, found.estimate), ("", cost), rule)

    def test_reads(self) -> None:
        """Variables and members cost 1, literals and `has()` nothing (reference CRD-32)."""
        self.check((OBJECT, "true", 0), (OBJECT, "has(self.a)", 1), (OBJECT, "self.n > 1", 3))

    def test_junctions(self) -> None:
        """Both sides of `&&` and `||` count, of a condition the dearer one (reference CRD-32)."""
        self.check(
            (INTEGER, "0 < self && self <= 65535", 4),
            (INTEGER, "self > 0 ? self > 1 : self > 1 && self > 2", 6),
            (INTEGER, "!(self > 0)", 3),
        )

    def test_texts(self) -> None:
        """A tenth of the bytes of a text that is read, of which a character has four (reference CRD-32)."""
        self.check(
            (SHORT, "self == 'abcdefghijklm'", 1 + 2),
            (SHORT, "self == self", 2 + 4),
            (SHORT, "self.startsWith('abc')", 1 + 1),
            (SHORT, "self.contains('abcdefghijklm')", 1 + 4 * 2),
            (SHORT, "self.matches('^[a-z]+$')", 1 + 5 * 2),
            (SHORT, "self.lowerAscii() == 'a'", 1 + 4 + 1),
            (SHORT, "self.split('.', 3).all(x, x == 'a')", 1 + 8 + 1 + 3 * (3 + 2)),
            (SHORT, "self + 'abc' == self", 2 + 5 + 4),
            (TEXT, "self == self", 2 + 314_573),
            ({"type": "string", "enum": ["abc", "defgh"]}, "self == self", 2 + 1),
            ({"type": "string", "format": "date-time"}, "self == self", 2 + 4),
            ({"type": "string", "format": "byte", "maxLength": 10}, "self == self", 2 + 1),
        )

    def test_written_out(self) -> None:
        """A list costs 10, a map 30, beside what is in them (reference CRD-32)."""
        self.check(
            (INTEGER, "self in [1, 2, 3]", 1 + 10 + 3),
            (INTEGER, "{'a': self}['a'] > 1", 1 + 30 + 1 + 1),
            (INTEGER, "size([self, self]) == 2", 2 + 10 + 1 + 1),
        )

    def test_macros(self) -> None:
        """Each element costs its turn and the bodies (reference CRD-32)."""
        self.check(
            (INTEGERS, "self.all(x, x > 1)", 2 + 5 * (3 + 2)),
            (INTEGERS, "self.exists(x, x > 1)", 2 + 5 * (4 + 2)),
            (INTEGERS, "self.exists_one(x, x > 1)", 3 + 5 * (2 + 2)),
            (INTEGERS, "self.filter(x, x > 1).size() == 1", 12 + 5 * (13 + 2) + 1 + 1),
            (INTEGERS, "self.map(x, x + 1).size() == 1", 12 + 5 * (12 + 2) + 1 + 1),
            (INTEGERS, "self.all(x, self.all(y, true))", 2 + 5 * (3 + 2 + 5 * 3)),
            (LABELS, "self.all(k, self[k] == 'a')", 2 + 8 * (3 + 3 + 1)),
            (TEXTS, "self.isSorted()", 1 + 5 * (1 + 4)),
            (TEXTS, "self.join(',') == ''", 1 + 21 + 0),
        )

    def test_sizes(self) -> None:
        """Without a limit a request's room is what counts (reference CRD-32)."""
        for schema, elements in (
            ({"type": "array", "items": INTEGER}, 3_145_726 // 2),
            ({"type": "array", "items": {"type": "boolean"}}, 3_145_726 // 5),
            ({"type": "object", "additionalProperties": TEXT}, 3_145_726 // 8),
            ({"type": "array", "items": {"type": "object", "required": ["ab"], "properties": {"ab": TEXT}}}, 285_975),
        ):
            self.assertEqual(verdict(schema, "self.all(x, true)").estimate, 2 + elements * 3)

    def test_repeats(self) -> None:
        """A rule counts once for each value that a request has room for (reference CRD-32)."""
        for schema, repeats in ((INTEGER, 1_572_864), (TEXT, 1_048_576), ({"type": "boolean"}, 629_145)):
            self.assertEqual(verdict(schema, "self == self").repeats, repeats)

    def test_newer_functions(self) -> None:
        """Sets cost the product of both sizes, lists one for each element, texts what is read (reference CRD-68)."""
        self.check(
            (INTEGERS, "sets.contains(self, self)", 2 + 5 * 5),
            (INTEGERS, "sets.equivalent(self, self)", 2 + 5 * 5),
            (INTEGERS, "self.distinct() == self", 2 + 5 + 1),
            (INTEGERS, "self.reverse() == self", 2 + 5 + 1),
            (SHORT, "isIP(self)", 1 + 4),
            (SHORT, "ip.isCanonical(self)", 1 + 2 * 4),
            (SHORT, "isSemver(self)", 1 + 4),
            (SHORT, "strings.quote(self) == 'a'", 1 + 2 * 4 + 1),
            (SHORT, "!format.dns1123Label().validate(self).hasValue()", 1 + 1 + 16 * 4 + 1 + 1),
        )

    def test_unknown_sizes(self) -> None:
        """Results of functions are unbounded, unless their arguments bound them (reference CRD-32)."""
        found = verdict(SHORT, "url(self).getHost() == url(self).getHost()")
        self.assertGreaterEqual(found.estimate, UNBOUNDED // 10)

    def test_overflow(self) -> None:
        """Estimates stop at the largest number, however deep loops are."""
        loops = "self.all(a, " * 12 + "true" + ")" * 12
        self.assertEqual(verdict({"type": "array", "items": INTEGER}, loops).estimate, UNBOUNDED)
