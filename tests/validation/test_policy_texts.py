"""Texts about invalid admission policies and bindings, word by word (reference POLICY-3, POLICY-4)."""
# covers: orchtw.registry.groups.admissionregistration.policies
# covers: orchtw.registry.groups.admissionregistration.policy_bindings
# covers: orchtw.registry.groups.admissionregistration.match_resources
# covers: orchtw.registry.groups.admissionregistration.expressions
# covers: orchtw.registry.groups.admissionregistration.configurations

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.groups.admissionregistration.configurations import validate_configuration
from orchtw.registry.groups.admissionregistration.policies import (
    validate_mutating_policy,
    validate_validating_policy,
)
from tests.admission.policies.case import API, MAPS_RULE, PolicyCase, mutating, validating

ONE = "validations or auditAnnotations must contain at least one item"
COMPILED = "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"
EXCLUSIVE = "Forbidden: name and selector are mutually exclusive"
BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
FOUND = {"parameterNotFoundAction": "Allow"}


def rule(**fields: Any) -> dict[str, Any]:
    """Return a policy with one validation of these fields."""
    return validating(validations=[{"expression": "true", **fields}])


def annotation(**fields: Any) -> dict[str, Any]:
    """Return a policy with one audit annotation of these fields."""
    return validating(auditAnnotations=[{"key": "k", "valueExpression": "null", **fields}])


def variable(name: str, expression: str) -> dict[str, Any]:
    """Return a policy with one variable."""
    return validating("true", variables=[{"name": name, "expression": expression}])


POLICIES: tuple[tuple[dict[str, Any], dict[str, str]], ...] = (
    (
        {"metadata": {"name": "p"}, "spec": {}},
        {
            "spec.matchConstraints": "Required value",
            "spec.validations": f"Required value: {ONE}",
            "spec.auditAnnotations": f"Required value: {ONE}",
        },
    ),
    (validating("true", matchConstraints={}), {"spec.matchConstraints.resourceRules": "Required value"}),
    (rule(expression=" "), {"spec.validations[0].expression": "Required value: expression is not specified"}),
    (rule(expression="x"), {"spec.validations[0].expression": f'Invalid value: "x": {COMPILED}'}),
    (
        rule(expression="1"),
        {"spec.validations[0].expression": 'Invalid value: "1": must evaluate to bool but got int'},
    ),
    (
        rule(messageExpression="authorizer.path('/')"),
        {
            "spec.validations[0].messageExpression": (
                "Invalid value: \"authorizer.path('/')\": compilation failed: ERROR: <input>:1:1: undeclared "
                "reference to 'authorizer' (in container '')\n | authorizer.path('/')\n | ^"
            )
        },
    ),
    (
        rule(reason="NotFound"),
        {
            "spec.validations[0].reason": (
                'Unsupported value: "NotFound": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge", '
                '"Unauthorized"'
            )
        },
    ),
    (
        annotation(valueExpression=" "),
        {"spec.auditAnnotations[0].valueExpression": "Required value: valueExpression is not specified"},
    ),
    (
        annotation(valueExpression=f"'{'a' * 5119}'"),
        {"spec.auditAnnotations[0].valueExpression": "Required value: must not exceed 5120 bytes in length"},
    ),
    (variable(" ", "1"), {"spec.variables[0].name": "Required value: name is not specified"}),
    (
        variable("a-b", "1"),
        {"spec.variables[0].name": 'Invalid value: "a-b": name is not a valid CEL identifier'},
    ),
    (variable("a", " "), {"spec.variables[0].expression": "Required value: expression is not specified"}),
    (
        validating("true", matchConditions=[{"name": "a", "expression": "true"}] * 2),
        {"spec.matchConditions[1].name": 'Duplicate value: "a"'},
    ),
    (
        validating("true", matchConditions=[{"name": f"a{n}", "expression": "true"} for n in range(65)]),
        {"spec.matchConditions": "Too many: 65: must have at most 64 items"},
    ),
    (
        validating("true", paramKind={"apiVersion": "a/b/c"}),
        {
            "spec.paramKind.apiVersion": 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
            "spec.paramKind.kind": "Required value",
        },
    ),
    (
        validating("true", rules=[{**MAPS_RULE, "resourceNames": ["a", "a"]}]),
        {"spec.matchConstraints.resourceRules[0].resourceNames[1]": 'Duplicate value: "a"'},
    ),
    (
        mutating(reinvocationPolicy=""),
        {
            "spec.mutations": "Required value: mutations must contain at least one item",
            "spec.reinvocationPolicy": "Required value",
        },
    ),
    (
        mutating("object"),
        {
            "spec.mutations[0].applyConfiguration.expression": (
                'Invalid value: "object": must evaluate to Object but got dyn'
            )
        },
    ),
    (
        mutating(mutations=[{"patchType": "JSONPatch"}]),
        {"spec.mutations[0].jsonPatch": "Required value: must be specified when patchType is JSONPatch"},
    ),
)
"""Policies, and the causes that refuse them by field."""

BINDINGS: tuple[tuple[dict[str, Any], dict[str, str]], ...] = (
    (
        {},
        {
            "spec.policyName": "Required value",
            "spec.validationActions": "Required value: at least one validation action is required",
        },
    ),
    (
        {"validationActions": ["Deny", "Warn"]},
        {
            "spec.validationActions": (
                f'Invalid value: []admissionregistration.ValidationAction{{"Deny", "Warn"}}: {BOTH}'
            )
        },
    ),
    (
        {"paramRef": {"name": "a", "selector": {}, **FOUND}},
        {"spec.paramRef.name": EXCLUSIVE, "spec.paramRef.selector": EXCLUSIVE},
    ),
    (
        {"paramRef": {}},
        {
            "spec.paramRef": "Required value: one of name or selector must be specified",
            "spec.paramRef.parameterNotFoundAction": "Required value",
        },
    ),
    (
        {"paramRef": {"name": "a", "parameterNotFoundAction": "x"}},
        {"spec.paramRef.parameterNotFoundAction": 'Unsupported value: "x": supported values: "Allow", "Deny"'},
    ),
    (
        {"matchResources": {"resourceRules": [{**MAPS_RULE, "resourceNames": ["a/b"]}], "matchPolicy": "x"}},
        {
            "spec.matchResouces.resourceRules[0].resourceNames[0]": "Invalid value: \"a/b\": may not contain '/'",
            "spec.matchResouces.matchPolicy": 'Unsupported value: "x": supported values: "Equivalent", "Exact"',
        },
    ),
)
"""Specs of bindings, and the causes that refuse them by field."""


class PolicyTextTests(PolicyCase):
    async def refused(self, path: str, obj: dict[str, Any]) -> dict[str, str]:
        """Return the causes that refuse an object."""
        answer = await self.server.request("POST", f"{API}/{path}", obj)
        self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"), answer.body)
        return {cause["field"]: cause["message"] for cause in answer.json["details"]["causes"]}

    async def test_policies(self) -> None:
        """Invalid policies are refused in the release's words."""
        for policy, causes in POLICIES:
            word = "mutating" if "mutations" in policy["spec"] else "validating"
            self.assertEqual(await self.refused(f"{word}admissionpolicies", policy), causes)

    async def test_bindings(self) -> None:
        """Invalid bindings are refused in the release's words, with its path of matchResources."""
        valid = {"policyName": "p", "validationActions": ["Deny"]}
        for spec, causes in BINDINGS:
            binding = {"metadata": {"name": "b"}, "spec": {**valid, **spec} if spec else {}}
            self.assertEqual(await self.refused("validatingadmissionpolicybindings", binding), causes)

    async def test_served(self) -> None:
        """v1 is served, with status; v1beta1 is not unless it is switched on (reference POLICY-1)."""
        await self.put(validating("true"))
        await self.put(mutating("Object{}"))
        for plural in ("validatingadmissionpolicies/p/status", "mutatingadmissionpolicybindings/p"):
            self.assertEqual((await self.server.request("GET", f"{API}/{plural}")).code, 200)
        answer = await self.server.request("GET", API.replace("v1", "v1beta1"))
        self.assertEqual(answer.code, 404)


class NoPoliciesTests(PolicyCase):
    settings = {**PolicyCase.settings, "feature_gates": (("ValidatingAdmissionPolicy", "false"),)}

    async def test_off(self) -> None:
        """Without the gate, the kinds do not exist (reference POLICY-1)."""
        self.assertEqual((await self.server.request("GET", f"{API}/validatingadmissionpolicies")).code, 404)
        self.assertEqual((await self.server.request("GET", f"{API}/mutatingadmissionpolicies")).code, 200)


DISTINCT = "[1, 1].distinct() == [1]"
PATTERN = "object.metadata.name.matches('[')"


class ReleaseTests(SynchronousTestCase):
    def faults(self, new: Any, old: Any = None, release: tuple[int, int] = (1, 34)) -> dict[str, str]:
        """Return the causes that refuse a policy of either kind, by field."""
        validate = validate_mutating_policy if "mutations" in new["spec"] else validate_validating_policy
        return {cause.field: cause.message for cause in validate(new, old, release)}

    def test_new(self) -> None:
        """New expressions use what the release before the emulated one has (reference POLICY-4)."""
        conditions = [{"name": "n", "expression": DISTINCT}]
        policy = validating(DISTINCT, matchConditions=conditions)
        found = self.faults(policy)
        self.assertEqual(set(found), {"spec.validations[0].expression", "spec.matchConditions[0].expression"})
        self.assertIn("undeclared reference to 'distinct'", found["spec.validations[0].expression"])
        self.assertEqual(self.faults(policy, release=(1, 35)), {})
        changes = mutating("Object{data: Object.data{a: string([1, 1].distinct()[0])}}")
        self.assertEqual(set(self.faults(changes)), {"spec.mutations[0].applyConfiguration.expression"})
        self.assertEqual(self.faults(changes, release=(1, 35)), {})

    def test_literals(self) -> None:
        """Patterns that are written out are checked when they are new (reference POLICY-4)."""
        self.assertEqual(set(self.faults(validating(PATTERN))), {"spec.validations[0].expression"})

    def test_stored(self) -> None:
        """Stored expressions stay valid when another part of the policy changes (reference POLICY-4)."""
        self.assertEqual(self.faults(validating(DISTINCT, PATTERN, "true"), validating(DISTINCT, PATTERN)), {})

    def test_webhooks(self) -> None:
        """Conditions of webhooks follow the same rules (reference HOOK-37)."""
        hook = {"name": "a", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
        one, two = ({"name": name, "expression": DISTINCT} for name in "ab")
        new = {"webhooks": [{**hook, "matchConditions": [one, two]}]}
        found = [cause.field for cause in validate_configuration(new, None, (1, 34))]
        self.assertEqual(found, [f"webhooks[0].matchConditions[{index}].expression" for index in range(2)])
        old = {"webhooks": [{**hook, "matchConditions": [one]}]}
        self.assertEqual(validate_configuration(new, old, (1, 34)), [])

    def test_names(self) -> None:
        """Conditions without names are not duplicates of each other."""
        unnamed = {"expression": "true"}
        found = self.faults(validating("true", matchConditions=[unnamed, unnamed]))
        self.assertEqual(found, {f"spec.matchConditions[{index}].name": "Required value" for index in range(2)})
