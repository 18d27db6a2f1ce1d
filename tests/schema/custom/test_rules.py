"""The rules of schemas, held against objects (reference CRD-28 to CRD-30)."""
# covers: orchtw.schema.cel.declarations

from __future__ import annotations

import json
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.schema.cel import compiler
from orchtw.schema.cel.declarations import Extensions
from orchtw.schema.cel.frames import STEPS
from orchtw.schema.custom.rules import OBJECT_STEPS, CelRules, rules_of, variables

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
NAMED = {"type": "object", "properties": {"name": TEXT, "n": NUMBER}}
KEYED = {"x-orch-list-type": "map", "x-orch-list-map-keys": ["name"]}
KEYS = Extensions.of(Naming.orch())
EXCEEDED = (
    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost "
    "exceeds limit for rule: "
)
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


def ruled(schema: dict[str, Any], *rules: str, **texts: str) -> dict[str, Any]:
    """A schema with rules; `texts`: more of the last one."""
    found: list[dict[str, str]] = [{"rule": rule} for rule in rules]
    found[-1].update(texts)
    return {**schema, "x-orch-validations": found}


def compiled(schema: dict[str, Any]) -> CelRules:
    """The rules of an object's schema."""
    rules = rules_of(schema, Naming.orch())
    assert rules is not None
    return rules


def member(schema: dict[str, Any]) -> CelRules:
    """The rules of objects whose member `a` has the schema."""
    return compiled({"type": "object", "properties": {"a": schema}})


class RuleCase(SynchronousTestCase):
    """Rules of a member `a`."""

    def holds(self, schema: dict[str, Any], value: Any, *rules: str, old: Any = None) -> None:
        """Each rule holds for the value."""
        before = None if old is None else {"a": old}
        for rule in rules:
            self.assertEqual(member(ruled(schema, rule))({"a": value}, before), [], rule)

    def told(self, schema: dict[str, Any], value: Any, rule: str, old: Any = None) -> list[str]:
        """The fields of the causes, without the member's name."""
        before = None if old is None else {"a": old}
        return [each.field.removeprefix("a") for each in member(ruled(schema, rule))({"a": value}, before)]


class CauseTests(RuleCase):
    """Causes of broken rules: field, text and value."""

    def test_texts(self) -> None:
        """A cause has the field, the type and the message, or else the rule (reference CRD-28)."""
        rules = member(ruled(NUMBER, "self > 1", " self > 2 ", message="must be more"))
        expected = [
            Cause("FieldValueInvalid", 'Invalid value: "integer": failed rule: self > 1', "a"),
            Cause("FieldValueInvalid", 'Invalid value: "integer": must be more', "a"),
        ]
        self.assertEqual(rules({"a": 1}), expected)
        self.assertEqual([each.message for each in rules({"a": 2})], ['Invalid value: "integer": must be more'])
        self.assertEqual(rules({"a": 3}), [])

    def test_paths(self) -> None:
        """The field is that of the value: members, elements, entries and the object itself."""
        inner = ruled(NAMED, "self.n > 0")
        schema = {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": inner},
                "map": {"type": "object", "additionalProperties": inner},
                "spec": {"type": "object", "properties": {"one": inner}},
            },
        }
        bad = {"n": 0}
        rules = compiled(ruled(schema, "has(self.spec)"))
        causes = rules({"list": [{"n": 1}, bad], "map": {"k.x": bad}, "spec": {"one": bad}})
        self.assertEqual([each.field for each in causes], ["list[1]", "map[k.x]", "spec.one"])
        self.assertEqual([each.field for each in rules({})], ["<nil>"])

    def test_failures(self) -> None:
        """A rule without a value says why (reference CRD-30)."""
        message = member(ruled(NAMED, "self.n / 0 == 1"))({"a": {"n": 1}})[0].message
        self.assertEqual(message, 'Invalid value: "object": division by zero evaluating rule: self.n / 0 == 1')
        message = member(ruled(NAMED, "self.n > 1", message="more"))({"a": {}})[0].message
        self.assertEqual(message, 'Invalid value: "object": no such key: n evaluating rule: more')
        either = {"x-orch-int-or-string": True}
        message = member(ruled(either, "self > 1"))({"a": "x"})[0].message
        why = "'no such overload': call arguments did not match a supported operator, function or macro signature"
        self.assertEqual(message, f'Invalid value: "": {why} for rule: self > 1')

    def test_no_rules(self) -> None:
        """A schema without rules, or with empty ones, has no rules."""
        self.assertIs(rules_of({"type": "object", "properties": {"a": NAMED}}, Naming.orch()), None)
        self.assertIs(rules_of(ruled({"type": "object"}, " "), Naming.orch()), None)

    def test_stored_rules(self) -> None:
        """A rule that does not compile any more refuses, instead of letting pass."""
        message = member(ruled(NAMED, "self.x == 1"))({"a": {}})[0].message
        why = "rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'x'"
        self.assertTrue(message.startswith(f'Invalid value: "object": {why}'), message)

    def test_null(self) -> None:
        """Null has no rules."""
        self.assertEqual(self.told({**NUMBER, "nullable": True}, None, "false"), [])

    def test_many(self) -> None:
        """Not many more causes are found than are shown."""
        rules = member({"type": "array", "items": ruled(NUMBER, "self > 0")})
        self.assertEqual(len(rules({"a": [0] * 1000})), MAX_CAUSES + 1)

    def test_vocabulary(self) -> None:
        """Extensions have the names that are served."""
        schema = {"type": "object", "x-kubernetes-validations": [{"rule": "false"}]}
        found = rules_of(schema, Naming.kubernetes())
        assert found is not None
        self.assertEqual(len(found({})), 1)
        self.assertIs(rules_of(schema, Naming.orch()), None)


class ValueTests(RuleCase):
    """Values that rules see of an object (reference CRD-29)."""

    def test_own_members(self) -> None:
        """The object and embedded resources show what they are and their names."""
        same = "self.apiVersion == 'v1' && self.kind == 'K' && self.metadata.name == 'n'"
        rule = f"{same} && !has(self.metadata.generateName)"
        value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "labels": {}}}
        self.assertEqual(compiled(ruled({"type": "object"}, rule))(value), [])
        self.holds({"type": "object", "x-orch-embedded-resource": True}, value, rule)
        self.assertIn("undefined field 'labels'", self.refused({"type": "object"}, "has(self.metadata.labels)"))

    def refused(self, schema: dict[str, Any], rule: str) -> str:
        """Return why a rule is invalid."""
        return compiled(ruled(schema, rule))({})[0].message

    def test_names(self) -> None:
        """Names of properties are escaped where expressions could not spell them."""
        names = {
            "a-b": "a__dash__b",
            "a.b": "a__dot__b",
            "a/b": "a__slash__b",
            "a__b": "a__underscores__b",
            "__if": "__underscores__if",
            "if": "__if__",
            "true": "__true__",
            "in": "__in__",
            "namespace": "__namespace__",
            "int": "int",
            "self": "self",
            "_a": "_a",
        }
        for name, shown in names.items():
            schema = {"type": "object", "properties": {name: NUMBER}}
            self.holds(schema, {name: 1}, f"self.{shown} == 1", f"has(self.{shown})")
            self.holds(schema, {}, f"!has(self.{shown})")
        for name in ("1a", "a b", "é", "a$", ""):
            schema = {"type": "object", "properties": {name: NUMBER, "x": NUMBER}}
            self.holds(schema, {name: 1}, "!has(self.x)")

    def test_hidden(self) -> None:
        """Fields without a schema cannot be seen."""
        free = {"x-orch-preserve-unknown-fields": True}
        schema = {
            "type": "object",
            "properties": {
                "a": free,
                "b": {"type": "array", "items": free},
                "c": {"type": "object", "additionalProperties": free},
                "d": {"type": "object", **free, "properties": {"x": NUMBER}},
            },
        }
        for name in "abc":
            self.assertIn(f"undefined field '{name}'", self.refused(schema, f"has(self.{name})"))
        self.assertIn("undefined field 'y'", self.refused(schema, "has(self.d.y)"))
        self.assertEqual(compiled(ruled(schema, "self.d.x == 1"))({"d": {"x": 1, "y": 2}}), [])

    def test_formats(self) -> None:
        """Dates and times are timestamps, durations durations, and bytes bytes."""
        properties = {
            "day": {**TEXT, "format": "date"},
            "time": {**TEXT, "format": "date-time"},
            "span": {**TEXT, "format": "duration"},
            "data": {**TEXT, "format": "byte"},
            "host": {**TEXT, "format": "hostname"},
            "times": {"type": "array", "items": {**TEXT, "format": "date-time"}},
            "spans": {"type": "object", "additionalProperties": {**TEXT, "format": "duration"}},
        }
        value = {
            "day": "2024-02-29",
            "time": "2024-02-29T12:00:00Z",
            "span": "36h",
            "data": "YWJj",
            "host": "a.b",
            "times": ["2024-02-29T12:00:00+00:00", "2025-01-01T00:00:00Z"],
            "spans": {"a": "3 days"},
        }
        self.holds(
            {"type": "object", "properties": properties},
            value,
            "self.time - self.day == duration('12h')",
            "self.day + self.span > self.time",
            "self.data == b'abc'",
            "self.host == 'a.b'",
            "self.times[0] == self.time && self.times.isSorted()",
            "self.spans['a'] == duration('72h') && self.spans.a.getHours() == 72",
            "dyn(self).times[0] == self.time",
        )

    def test_numbers(self) -> None:
        """Numbers are doubles, even whole ones, and integers are not."""
        schema = {"type": "object", "properties": {"d": {"type": "number"}, "i": NUMBER}}
        rules = ("self.d / 2.0 == 1.5", "type(self.d) == double", "double(self.i) == self.d", "self.i / 2 == 1")
        self.holds(schema, {"d": 3, "i": 3}, *rules)
        self.assertIn("'(double, int)'", self.refused(schema, "self.d == self.i"))
        self.holds({"type": "array", "items": {"type": "number"}}, [1, 2.5], "self.sum() == 3.5", "2.5 in self")

    def test_int_or_string(self) -> None:
        """A number or text tells its type itself."""
        rule = "type(self) == int ? self > 0 : self.endsWith('%')"
        self.holds({"x-orch-int-or-string": True}, 5, rule, "self == 5")
        self.holds({"x-orch-int-or-string": True}, "5%", rule, "self != 5")

    def test_nullable(self) -> None:
        """A member that is null is there, and no function takes it."""
        schema = {"type": "object", "properties": {"x": {**NUMBER, "nullable": True}}}
        self.holds(schema, {"x": None}, "has(self.x) && self.x == null")
        self.holds(schema, {"x": 1}, "self.x != null && self.x > 0")
        self.assertEqual(self.told(schema, {"x": None}, "self.x > 0"), [""])
        self.assertEqual(self.told(schema, {"x": None}, "-self.x > 0"), [""])

    def test_sets(self) -> None:
        """Sets are the same in any order, and joined without repetition."""
        schema = {"type": "array", "items": TEXT, "x-orch-list-type": "set"}
        rules = ("self == ['b', 'a']", "self + ['b', 'c'] == ['a', 'b', 'c']", "(self + ['b', 'c']).size() == 3")
        self.holds(schema, ["a", "b"], *rules)
        self.assertEqual(self.told({"type": "array", "items": TEXT}, ["a", "b"], "self == ['b', 'a']"), [""])

    def test_maps(self) -> None:
        """Lists of a map are compared and joined by their keys."""
        schema = {"type": "array", "items": NAMED, **KEYED}
        first, second, other = {"name": "a", "n": 1}, {"name": "b", "n": 2}, {"name": "a", "n": 5}
        self.holds(schema, [first, second], "self == oldSelf", old=[second, first])
        self.assertEqual(self.told(schema, [first], "self == oldSelf", old=[other]), [""])
        old = [other, {"name": "c"}]
        rules = ("(self + oldSelf).map(e, e.name) == ['a', 'b', 'c']", "(self + oldSelf)[0].n == 5")
        self.holds(schema, [first, second], *rules, old=old)

    def test_objects_are_compared(self) -> None:
        """Objects are the same if their members are, each in its own way."""
        part = {"type": "object", "properties": {"s": {"type": "array", "items": TEXT, "x-orch-list-type": "set"}}}
        schema = {"type": "object", "properties": {"x": part}}
        self.holds(schema, {"x": {"s": ["a", "b"]}}, "self == oldSelf", old={"x": {"s": ["b", "a"]}})
        self.assertEqual(self.told(schema, {"x": {"s": ["a"]}}, "self.x == oldSelf.x", old={"x": {"s": ["b"]}}), [""])

    def test_types(self) -> None:
        """Objects with different schemas are of different types."""
        schema = {"type": "object", "properties": {"x": NAMED, "y": {"type": "object", "properties": {}}}}
        self.assertIn("'_==_' applied to '(self.x, self.y)'", self.refused(schema, "self.x == self.y"))
        self.assertEqual(compiled(ruled(schema, "dyn(self.x) != dyn(self.y)"))({"x": {"n": 1}, "y": {}}), [])


class TransitionTests(RuleCase):
    """Rules about what was there before (reference CRD-30)."""

    def test_update(self) -> None:
        """Such a rule is looked at only where there was a value."""
        self.assertEqual(self.told(NUMBER, 1, "self >= oldSelf"), [])
        self.assertEqual(self.told(NUMBER, 1, "self >= oldSelf", old=2), [""])
        self.assertEqual(self.told(NUMBER, 3, "self >= oldSelf", old=2), [])
        self.assertEqual(self.told(NUMBER, 1, "self > 1", old=2), [""])
        self.assertEqual(member(ruled(NUMBER, "self == oldSelf"))({"a": 1}, {}), [])

    def test_maps(self) -> None:
        """Values of maps and elements with keys have one before; others do not."""
        part = ruled(NAMED, "self.n == oldSelf.n")
        first, second = {"name": "a", "n": 1}, {"name": "b", "n": 2}
        keyed = member({"type": "array", "items": part, **KEYED})
        self.assertEqual(keyed({"a": [second, first]}, {"a": [first, second]}), [])
        causes = keyed({"a": [second, {"name": "a", "n": 5}, {"name": "c"}]}, {"a": [first, second]})
        self.assertEqual([each.field for each in causes], ["a[1]"])
        mapped = member({"type": "object", "additionalProperties": part})
        self.assertEqual([each.field for each in mapped({"a": {"k": first}}, {"a": {"k": second}})], ["a[k]"])
        atomic = member({"type": "object", "additionalProperties": part, "x-orch-map-type": "atomic"})
        self.assertEqual([each.field for each in atomic({"a": {"k": first}}, {"a": {"k": second}})], ["a[k]"])
        plain = member({"type": "array", "items": part})
        self.assertEqual(plain({"a": [first]}, {"a": [second]}), [])

    def test_misfits(self) -> None:
        """An old value may be of another type than the schema of today says."""
        schema = {
            "type": "object",
            "properties": {
                "l": {"type": "array", "items": {"type": "number"}},
                "t": {**TEXT, "format": "date"},
                "o": NAMED,
            },
        }
        value = {"l": [1], "t": "2024-01-01", "o": {"name": "x"}}
        for old in ({"l": 5}, {"l": ["x"]}, {"t": 5}, {"t": "x"}, {"o": 5}, {"o": {"name": [1]}}, {}, 5, [1], "x"):
            rule = "self.l == oldSelf.l && self.t == oldSelf.t && self.o.name + 'x' == oldSelf.o.name + 'x'"
            self.assertEqual(self.told(schema, value, rule, old=old), [""], old)
        keyed = member({"type": "array", "items": ruled(NAMED, "self == oldSelf"), **KEYED})
        elements: Any
        for elements in ([5], [{"name": {"x": 1}}], [{}], 5):
            self.assertEqual(keyed({"a": [{"name": "a"}]}, {"a": elements}), [])


class CostTests(SynchronousTestCase):
    """Rules end, whatever they are about (reference CRD-32)."""

    VALUE = {"n": list(range(20_000)), "s": "ab" * 500_000, "l": ["x" * 1000] * 500}
    SCHEMA = {
        "type": "object",
        "properties": {
            "n": {"type": "array", "items": NUMBER},
            "s": TEXT,
            "l": {"type": "array", "items": TEXT},
        },
    }
    HOSTILE = (
        "self.n.all(a, self.n.all(b, a + b >= 0))",
        "self.n.all(a, self.n.all(b, self.n.exists(c, c == 0)))",
        "self.n.exists_one(a, self.n.filter(b, b == a).size() == 2)",
        "self.n.map(a, self.n.map(b, b)).size() > 0",
        "self.n.all(a, a in self.n)",
        "self.n.all(a, !self.s.contains('abc'))",
        "self.n.all(a, self.s.indexOf('abc') == -1)",
        "self.s.matches('[a-z]{0,1000}x')",
        "self.n.all(a, !self.s.matches('c'))",
        "self.s.findAll('a.*b?|b').size() > 0",
        "self.n.all(a, !'x'.matches('a{0,500}b{0,500}c{0,500}' + string(a)))",
        "self.n.map(a, self.s + self.s).size() > 0",
        "self.n.all(a, self.s.replace('', self.s) == '')",
        "self.n.all(a, self.s.replace('ab', self.s) == '')",
        "self.n.all(a, self.s.split('').size() > 0)",
        "self.n.all(a, self.s.upperAscii() != '')",
        "self.n.all(a, self.s == self.s.trim())",
        "self.n.map(a, self.l.join(self.s)).size() > 0",
        "self.n.all(a, self.n == self.n)",
        "self.n.all(a, dyn(self) == dyn(self))",
        "self.n.all(a, self.n.isSorted())",
        "self.n.all(a, self.n.sum() >= 0)",
        "self.n.map(a, self.n + self.n).size() > 0",
        "self.n.all(a, bytes(self.s).size() > 0)",
        "self.n.all(a, !isURL(self.s))",
    )

    def test_rule(self) -> None:
        """A rule that takes too much is told, and no other is run."""
        for rule in self.HOSTILE:
            causes = compiled(ruled(self.SCHEMA, rule, "false"))(self.VALUE)
            self.assertEqual([each.message for each in causes], [f'Invalid value: "object": {EXCEEDED}{rule}'])

    def test_object(self) -> None:
        """All rules of an object together take no more than it may."""
        inner = ruled(NUMBER, "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(y, x * y > self))")
        schema = ruled({"type": "object", "properties": {"n": {"type": "array", "items": inner}}}, "true")
        causes = compiled(schema)({"n": [0] * 50_000})
        self.assertEqual([each.message for each in causes], [f'Invalid value: "integer": {OUT_OF_BUDGET}'])

    def test_large_values(self) -> None:
        """Rules that look at each element once hold for the largest values."""
        rules = (
            "self.n.all(a, a >= 0)",
            "self.l.all(x, x.size() == 1000)",
            "self.s.matches('^[ab]*$')",
            "self.n.sum() > 0",
        )
        self.assertEqual(compiled(ruled(self.SCHEMA, *rules))(self.VALUE), [])

    def test_steps(self) -> None:
        """The bound on steps follows from the object's size and nested macros."""
        flat = compiled(ruled(self.SCHEMA, "has(self.n)"))
        self.assertEqual(flat.steps(10), flat.steps(1 << 20))
        once = compiled(ruled(self.SCHEMA, "self.n.all(a, a >= 0)"))
        self.assertLess(once.steps(1000), once.steps(2000))
        self.assertLess(once.steps(2000), 3 * once.steps(1000))
        twice = compiled(ruled(self.SCHEMA, "self.n.all(a, self.n.all(b, a >= b))"))
        self.assertLess(3 * twice.steps(1000), twice.steps(2000))
        self.assertEqual(twice.steps(3 << 20), OBJECT_STEPS)

    def test_steps_of_what_is_written_out(self) -> None:
        """Lists in a rule take their steps in any object, and lists that are added those of each."""
        numbers = str(list(range(1000)))
        for source in (numbers, f"({numbers} + self.n)", f"self.n.map(a, a + 1) + {numbers}", f"{numbers}.map(a, a)"):
            rules = compiled(ruled(self.SCHEMA, f"({source}).all(a, {numbers}.all(b, a + b >= 0))"))
            self.assertGreater(rules.steps(2), 1_000_000, source)
            self.assertTrue(rules.may_take_long(2))
        few = compiled(ruled(self.SCHEMA, "[1, 2].all(a, self.n.all(b, a < b))"))
        self.assertFalse(few.may_take_long(1000))
        more = compiled(ruled(self.SCHEMA, "(self.n + self.n).all(b, b > 1)"))
        self.assertGreater(more.steps(1000), 1.5 * compiled(ruled(self.SCHEMA, "self.n.all(b, b > 1)")).steps(1000))

    def test_steps_of_a_run(self) -> None:
        """The bound on steps is at least the steps taken."""
        for rule in self.HOSTILE[:4]:
            for count in (1, 5, 50):
                value = {**self.VALUE, "n": list(range(count)), "s": "ab", "l": []}
                expression = compiler.compiled(rule, variables(self.SCHEMA, KEYS, names_itself=True))
                frame = expression.frame(value, None, OBJECT_STEPS)
                expression.run(frame)
                most = compiled(ruled(self.SCHEMA, rule)).steps(len(json.dumps(value)))
                self.assertGreaterEqual(most, OBJECT_STEPS - frame[STEPS], (rule, count))
