"""Expressions of policies, without a server (reference POLICY-5, POLICY-12)."""
# covers: orchtw.schema.cel.mutations, orchtw.schema.cel.evaluation

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.admission import ANNOTATION, ANYTHING, CONDITION, Composition, known_variables
from orchtw.schema.cel.evaluation import EVALUATION_STEPS, Evaluation, Meter, OutOfBudget, TooLong, Wrong
from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.mutations import MUTATIONS, RESULTS, as_json, operations_of

LISTS = {"object": {"many": list(range(1000))}}
SQUARE = "object.many.all(a, object.many.all(b, a + b >= 0))"


class CompositionTests(SynchronousTestCase):
    def test_members_are_not_escaped(self) -> None:
        """Members of the request and of namespaces have their own names, reserved words included."""
        composition = Composition(known_variables(params=False))
        for source in ("request.namespace == ''", "namespaceObject.metadata.labels['a'] == ''"):
            self.assertEqual(composition.check(source, CONDITION).fault, "")

    def test_order(self) -> None:
        """A variable is known to those after it only, with its type."""
        composition = Composition(known_variables(params=False))
        self.assertIn("undefined field 'a'", composition.check("variables.a", ANYTHING).fault)
        composition.define("a", "'text'")
        self.assertEqual(composition.check("variables.a", CONDITION).fault, "must evaluate to bool but got string")
        self.assertEqual(composition.check("variables.a", ANNOTATION).fault, "")

    def test_results(self) -> None:
        """Several possible results are all named."""
        fault = Composition(known_variables(params=False)).check("1", ANNOTATION).fault
        self.assertEqual(fault, "must evaluate to one of [string null_type] but got int")


class BudgetTests(SynchronousTestCase):
    def evaluation(self, steps: int = EVALUATION_STEPS, meter: Meter | None = None) -> Any:
        """Return a function that evaluates a boolean expression on the lists."""
        found = Evaluation(LISTS, {}, steps, meter or Meter())
        composition = Composition(known_variables(params=False))
        return lambda source: found.value(composition.check(source, CONDITION))

    def test_expression(self) -> None:
        """An expression of more than 1,000,000 steps fails, and others go on (reference POLICY-7)."""
        value = self.evaluation()
        problem = self.assertRaises(Wrong, value, SQUARE)
        self.assertTrue(str(problem).endswith("operation cancelled: actual cost limit exceeded"))
        self.assertTrue(value("object.many.all(a, a >= 0)"))

    def test_evaluation(self) -> None:
        """Expressions share the budget of an evaluation (reference POLICY-7)."""
        value = self.evaluation(10_000)
        self.assertTrue(value("object.many.all(a, a >= 0)"))
        self.assertRaises(OutOfBudget, value, SQUARE)

    def test_thread(self) -> None:
        """A run on the reactor ends when its meter has."""
        self.assertRaises(TooLong, self.evaluation(meter=Meter(10_000)), SQUARE)


class MutationTests(SynchronousTestCase):
    def value(self, kind: str, source: str) -> Any:
        """Return the value of a mutation's expression."""
        found = Composition(known_variables(params=False), MUTATIONS).check(source, RESULTS[kind])
        self.assertEqual(found.fault, "")
        return found.expression.run(found.expression.frame_of({"object": {"a": [1]}}, 10_000))

    def test_objects(self) -> None:
        """Messages become JSON, those in lists included; absent optional fields are left out."""
        source = "Object{spec: Object.spec{n: 1, ?no: optional.none(), parts: [Object.spec.parts{a: object.a}]}}"
        found = as_json(self.value("ApplyConfiguration", source))
        self.assertEqual(found, {"spec": {"n": 1, "parts": [{"a": [1]}]}})

    def test_names(self) -> None:
        """A message that is named by another place is an error."""
        value = self.value("ApplyConfiguration", "Object{spec: Object.status{}}")
        problem = self.assertRaises(Failure, as_json, value)
        text = 'unexpected type name "Object.status", expected "Object.spec"'
        self.assertTrue(str(problem).startswith(text))

    def test_sizes(self) -> None:
        """A value that would fill a request many times over, or is too deep, is an error."""
        doubled = "[1]" + ".map(a, [a, a])" * 60
        value = self.value("ApplyConfiguration", f"Object{{a: {doubled}}}")
        self.assertRaises(Failure, as_json, value)
        patch = self.value("JSONPatch", f'[JSONPatch{{op: "add", path: "/a", value: {doubled}}}]')
        self.assertRaises(Failure, operations_of, patch)
        deep: list[Any] = []
        for _ in range(2000):
            deep = [deep]
        self.assertRaises(Failure, as_json, deep)

    def test_patches(self) -> None:
        """Operations become JSON, with messages in their values."""
        source = '[JSONPatch{op: "add", path: "/spec", value: Object.spec{a: 1}}]'
        expected = [{"op": "add", "path": "/spec", "value": {"a": 1}}]
        self.assertEqual(operations_of(self.value("JSONPatch", source)), expected)
