"""Policies that are compiled from their objects (reference POLICY-2)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.policies.definitions import conditions_of, names_of, policy_of
from tests.admission.policies.case import mutating, validating


class DefinitionTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The variables of a write that any expression mentions are collected, those of variables too."""
        spec: dict[str, Any] = {"variables": [{"name": "v", "expression": "oldObject == null"}]}
        policy = policy_of(validating("variables.v && request.operation == 'CREATE'", **spec))
        self.assertLessEqual({"oldObject", "request"}, policy.names)
        self.assertNotIn("authorizer", policy.names)
        self.assertEqual(names_of(()), frozenset())

    def test_settings(self) -> None:
        """failurePolicy, reinvocationPolicy and paramKind are read."""
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        policy = policy_of(validating("params != null", failurePolicy="Ignore", paramKind=kind))
        self.assertEqual((policy.kind, policy.patient, policy.again), (("v1", "ConfigMap"), True, False))
        self.assertEqual(policy.validations[0].rule.fault, "")
        self.assertTrue(policy_of(mutating("[]", reinvocationPolicy="IfNeeded")).again)

    def test_no_parameters(self) -> None:
        """`params` is unknown in a policy without a kind of parameters."""
        (found,) = policy_of(validating("params != null")).validations
        self.assertIn("undeclared reference to 'params'", found.rule.fault)

    def test_results(self) -> None:
        """A validation has a boolean and its message a text."""
        rule = {"expression": "1", "messageExpression": "2", "message": " text "}
        (found,) = policy_of(validating(validations=[rule])).validations
        assert found.shown is not None
        self.assertEqual(found.rule.fault, "must evaluate to bool but got int")
        self.assertEqual(found.shown.fault, "must evaluate to string but got int")
        self.assertEqual(found.message, "text")

    def test_mutations(self) -> None:
        """Apply configurations are merged, JSON patches are not."""
        found = policy_of(mutating("Object{}", "[]")).mutations
        self.assertEqual([each.merges for each in found], [True, False])

    def test_conditions(self) -> None:
        """Conditions may know of no namespace."""
        given = [{"name": "c", "expression": " namespaceObject == null "}]
        self.assertEqual(conditions_of(given)[0].fault, "")
        self.assertIn("undeclared reference", conditions_of(given, namespace=False)[0].fault)
