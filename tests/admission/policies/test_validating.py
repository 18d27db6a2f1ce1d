"""Validating policies in front of a server (reference POLICY-1 to POLICY-11, POLICY-15)."""
# covers: orchtw.admission.policies.checks
# covers: orchtw.admission.policies.judge, orchtw.admission.policies.known, orchtw.admission.policies.parameters

from __future__ import annotations

import json
from typing import Any

from orchtw.admission.policies.judge import Judge
from orchtw.admission.policies.known import MAX_PLANS
from tests.admission.policies.case import API, DENIED, MAPS_RULE, PolicyCase, validating
from tests.admission.webhooks.case import MAPS, MERGE

NO_KEY = "resulted in error: no such key: x"


class DenialTests(PolicyCase):
    async def test_denied(self) -> None:
        """A failed validation refuses the write with the first failed expression (reference POLICY-10)."""
        await self.put(validating("true", "object.metadata.name != 'x'", "object.metadata.name == 'y'"))
        answer = await self.create_map()
        text = DENIED + "failed expression: object.metadata.name != 'x'"
        self.assertStatus(answer, 422, "Invalid", f'configmaps "x" is forbidden: {text}')
        self.assertEqual(answer.json["details"]["causes"], [{"message": text}])
        self.assertEqual((await self.create_map("y")).code, 201)

    async def test_reasons(self) -> None:
        """The reason of a validation decides the code (reference POLICY-10)."""
        codes = {"Invalid": 422, "Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
        rules = [
            {"expression": f"object.metadata.name != '{reason.lower()}'", "message": reason, "reason": reason}
            for reason in codes
        ]
        await self.put(validating(validations=rules))
        for reason, code in codes.items():
            name = reason.lower()
            answer = await self.create_map(name)
            self.assertStatus(answer, code, reason, f'configmaps "{name}" is forbidden: {DENIED}{reason}')

    async def test_messages(self) -> None:
        """messageExpression gives the message if it is one line, else `message` does (reference POLICY-10)."""
        for name, shown, expected in (
            ("a", "'no ' + object.metadata.name", "no a"),
            ("b", "'no\\n' + object.metadata.name", "fixed"),
            ("c", "object.x", "fixed"),
            ("d", "' '", "fixed"),
        ):
            rule = {
                "expression": f"object.metadata.name != '{name}'", "messageExpression": f"string({shown})",
                "message": " fixed ",
            }  # fmt: skip
            await self.put(validating(name=f"p{name}", validations=[rule]))
            answer = await self.create_map(name)
            self.assertTrue(answer.json["message"].endswith(f"denied request: {expected}"), answer.json["message"])

    async def test_warn_and_audit(self) -> None:
        """Warn sends a warning, Audit annotates the event, and neither refuses (reference POLICY-10)."""
        await self.put(validating("true", "object.metadata.name != 'x'"), validationActions=["Warn", "Audit"])
        answer = await self.create_map()
        text = "failed expression: object.metadata.name != 'x'"
        warning = f"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': {text}"
        self.assertEqual((answer.code, answer.headers["warning"]), (201, f'299 - "{warning}"'))

    async def test_errors(self) -> None:
        """An error refuses the write with failurePolicy Fail, and counts for nothing with Ignore (POLICY-10)."""
        await self.put(validating("object.x == 1"))
        answer = await self.create_map()
        text = f"{DENIED}expression 'object.x == 1' {NO_KEY}"
        self.assertStatus(answer, 422, "Invalid", f'configmaps "x" is forbidden: {text}')
        await self.server.request("DELETE", f"{API}/validatingadmissionpolicies/p")
        await self.put(validating("object.x == 1", name="q", failurePolicy="Ignore"))
        self.assertEqual((await self.create_map()).code, 201)

    async def test_metrics(self) -> None:
        """Checks are counted by policy, binding, kind of error and action (reference POLICY-15)."""
        await self.put(validating("false"))
        await self.create_map()
        metrics = (await self.server.request("GET", "/metrics")).body.decode()
        labels = '{enforcement_action="deny",error_type="no_error",policy="p",policy_binding="p"}'
        self.assertIn(f"apiserver_validating_admission_policy_check_total{labels} 1", metrics)


class VariableTests(PolicyCase):
    async def expect(self, expression: str, **spec: Any) -> None:
        """Check that an expression is true for a create of a ConfigMap."""
        await self.put(validating(expression, **spec))
        answer = await self.create_map(data={"a": "b"})
        self.assertEqual(answer.code, 201, answer.body)

    async def test_request(self) -> None:
        """The request is that of webhooks; empty members are missing (reference POLICY-5)."""
        await self.expect(
            "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && request.name == 'x' && "
            "request.namespace == 'default' && request.operation == 'CREATE' && !request.dryRun && "
            "request.requestKind.version == 'v1' && "
            "!has(request.subResource) && request.userInfo.username != '' && request.options.kind == 'CreateOptions'"
        )

    async def test_null(self) -> None:
        """oldObject and params are null, and the namespace is there (reference POLICY-5)."""
        await self.expect("oldObject == null && namespaceObject.metadata.name == 'default'")

    async def test_own(self) -> None:
        """Variables see those before them, and are evaluated when they are used (reference POLICY-5)."""
        variables = [
            {"name": "bad", "expression": "object.x"},
            {"name": "name", "expression": "object.metadata.name"},
            {"name": "twice", "expression": "variables.name + variables.name"},
        ]
        await self.expect("variables.twice == 'xx'", variables=variables)
        await self.server.request("DELETE", f"{API}/validatingadmissionpolicies/p")
        await self.put(validating("variables.bad == 1", name="q", variables=variables))
        answer = await self.create_map("y")
        text = "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate"
        self.assertIn(text, answer.json["message"])

    async def test_authorizer(self) -> None:
        """The authorizer is asked about the user and about accounts (reference POLICY-6)."""
        await self.expect(
            "authorizer.requestResource.check('create').allowed() && "
            "!authorizer.serviceAccount('default', 'nobody').group('').resource('pods').check('get').allowed()"
        )

    async def test_delete(self) -> None:
        """For DELETE object is null, and oldObject is there (reference POLICY-5)."""
        await self.create_map()
        rule = {**MAPS_RULE, "operations": ["DELETE"]}
        await self.put(validating("object == null && oldObject.metadata.name == 'y'", rules=[rule]))
        answer = await self.server.request("DELETE", f"{MAPS}/x")
        self.assertEqual(answer.code, 422)


class MatchTests(PolicyCase):
    async def test_unbound(self) -> None:
        """A policy without a binding has no effect (reference POLICY-2)."""
        await self.created(f"{API}/validatingadmissionpolicies", validating("false"))
        self.assertEqual((await self.create_map()).code, 201)

    async def test_names_and_labels(self) -> None:
        """Rules for names, excluded rules and selectors narrow what matches (reference POLICY-3)."""
        match = {
            "resourceRules": [MAPS_RULE],
            "excludeResourceRules": [{**MAPS_RULE, "resourceNames": ["free"]}],
            "objectSelector": {"matchLabels": {"checked": "yes"}},
        }
        await self.put(validating("false", matchConstraints=match))
        labels = {"labels": {"checked": "yes"}}
        self.assertEqual((await self.create_map("x")).code, 201)
        self.assertEqual((await self.create_map("y", metadata=labels)).code, 422)
        self.assertEqual((await self.create_map("free", metadata=labels)).code, 201)

    async def test_namespaces(self) -> None:
        """A binding's namespaceSelector counts too (reference POLICY-3)."""
        selector = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
        await self.put(validating("false"), matchResources=selector)
        self.assertEqual((await self.create_map("x")).code, 201)
        label = {"metadata": {"labels": {"env": "prod"}}}
        await self.server.request("PATCH", "/api/v1/namespaces/default", label, headers=MERGE)
        self.assertEqual((await self.create_map("y")).code, 422)

    async def test_equivalent(self) -> None:
        """A write through another version is converted, but not with matchPolicy Exact (reference POLICY-3)."""
        rule = {"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "operations": ["*"]}
        rule |= {"resources": ["horizontalpodautoscalers"]}
        spec = {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
        path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
        await self.put(validating("object.apiVersion == 'autoscaling/v2'", rules=[rule]))
        answer = await self.server.request("POST", path, {"metadata": {"name": "h"}, "spec": spec})
        self.assertEqual(answer.code, 422, answer.body)
        await self.server.request("DELETE", f"{API}/validatingadmissionpolicies/p")
        exact = {"resourceRules": [rule], "matchPolicy": "Exact"}
        await self.put(validating("false", name="q", matchConstraints=exact))
        answer = await self.server.request("POST", path, {"metadata": {"name": "h"}, "spec": spec})
        self.assertEqual(answer.code, 201, answer.body)

    async def test_policies_are_exempt(self) -> None:
        """A policy about everything can be deleted; webhook configurations match (reference POLICY-1)."""
        rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
        await self.put(validating("false", rules=[rule]))
        for kind in ("validating", "mutating"):
            path = f"{API}/{kind}webhookconfigurations"
            answer = await self.server.request("POST", path, {"metadata": {"name": "x"}})
            self.assertEqual(answer.code, 422)
        answer = await self.server.request("DELETE", f"{API}/validatingadmissionpolicies/p")
        self.assertEqual(answer.code, 200)

    async def test_conditions(self) -> None:
        """A false match condition excludes the write, even if another fails (reference POLICY-8)."""
        conditions = [
            {"name": "error", "expression": "object.x == 1"},
            {"name": "name", "expression": "object.metadata.name != 'x'"},
        ]
        await self.put(validating("false", matchConditions=conditions))
        self.assertEqual((await self.create_map("x")).code, 201)
        answer = await self.create_map("y")
        self.assertEqual(answer.json["message"].partition(DENIED)[2], f"expression 'object.x == 1' {NO_KEY}")

    async def test_idle(self) -> None:
        """The plugins are asked only about kinds of writes that some policy may match."""
        asked: list[str] = []
        judge = Judge.judge

        def recorded(own: Judge, pairings: Any, attributes: Any) -> Any:
            asked.append(attributes.resource.plural)
            return judge(own, pairings, attributes)

        self.patch(Judge, "judge", recorded)
        await self.put(validating("true"))
        self.assertEqual((await self.create_map()).code, 201)
        await self.created(MAPS.replace("configmaps", "secrets"), {"metadata": {"name": "x"}})
        self.assertEqual([each for each in asked if each in ("configmaps", "secrets")], ["configmaps"])

    def test_plans_are_bounded(self) -> None:
        """The cache of plans has a limit, as resources come and go."""
        self.assertEqual(MAX_PLANS, 10_000)


class EarlierVersionTests(PolicyCase):
    settings = {
        "emulated_version": "1.28", "runtime_config": (("admissionregistration.orch.io/v1beta1", "true"),)
    }  # fmt: skip

    async def test_beta(self) -> None:
        """Policies of a served v1beta1 decide on writes while a release without v1 is emulated (POLICY-1)."""
        beta = API + "beta1"
        await self.created(f"{beta}/validatingadmissionpolicies", validating("object.metadata.name != 'x'"))
        bound = {"metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
        await self.created(f"{beta}/validatingadmissionpolicybindings", bound)
        self.assertEqual((await self.create_map("x")).code, 422)
        self.assertEqual((await self.create_map("y")).code, 201)


class ParameterTests(PolicyCase):
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    rule = {**MAPS_RULE, "operations": ["UPDATE"]}

    async def update(self) -> Any:
        """Change the data of the ConfigMap that the policy checks."""
        return await self.server.request("PATCH", f"{MAPS}/x", {"data": {"a": "c"}}, headers=MERGE)

    async def test_named(self) -> None:
        """A parameter is found by name in the namespace of the request (reference POLICY-9)."""
        await self.create_map("x")
        await self.create_map("limits", data={"wanted": "b"})
        policy = validating("object.data.a == params.data.wanted", rules=[self.rule], paramKind=self.kind)
        await self.put(policy, paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
        self.assertEqual((await self.update()).code, 422)
        await self.server.request("DELETE", f"{MAPS}/limits")
        answer = await self.update()
        text = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        self.assertStatus(answer, 422, "Invalid", f'configmaps "x" is forbidden: {DENIED}{text}')

    async def test_selected(self) -> None:
        """Each selected parameter is an evaluation; without any, Allow evaluates nothing (reference POLICY-9)."""
        await self.create_map("x")
        policy = validating("object.data.a != params.data.bad", rules=[self.rule], paramKind=self.kind)
        selector = {"matchLabels": {"limits": "yes"}}
        await self.put(policy, paramRef={"selector": selector, "parameterNotFoundAction": "Allow"})
        self.assertEqual((await self.update()).code, 200)
        for name, bad in (("one", "z"), ("two", "c")):
            await self.create_map(name, metadata={"labels": {"limits": "yes"}}, data={"bad": bad})
        await self.server.request("PATCH", f"{MAPS}/x", {"data": {"a": "z"}}, headers=MERGE)
        self.assertEqual((await self.update()).code, 422)

    async def test_unknown(self) -> None:
        """A kind that is not served refuses what matches, whatever the actions (reference POLICY-9)."""
        kind = {"apiVersion": "x.io/v1", "kind": "Limit"}
        reference = {"name": "a", "parameterNotFoundAction": "Allow"}
        await self.put(validating("true", paramKind=kind), paramRef=reference, validationActions=["Audit"])
        answer = await self.create_map()
        text = "failed to configure binding: paramKind kind `&ParamKind{APIVersion:x.io/v1,Kind:Limit,}` not known"
        self.assertStatus(answer, 422, "Invalid", f'configmaps "x" is forbidden: {DENIED}{text}')

    async def test_cluster_scope(self) -> None:
        """A cluster-scoped kind goes with no namespace (reference POLICY-9)."""
        kind = {"apiVersion": "v1", "kind": "Namespace"}
        reference = {"name": "default", "namespace": "n", "parameterNotFoundAction": "Allow"}
        await self.put(validating("true", paramKind=kind), paramRef=reference)
        answer = await self.create_map()
        text = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
        self.assertTrue(answer.json["message"].endswith(text))


class BudgetTests(PolicyCase):
    async def test_expression(self) -> None:
        """An expression that takes too many steps fails, after the reactor has gone on (reference POLICY-7)."""
        many: dict[str, Any] = {"data": {f"k{number}": "v" for number in range(200)}}
        await self.put(validating("object.data.all(a, object.data.all(b, object.data.all(c, a + b != c)))"))
        answer = await self.create_map(**many)
        self.assertIn("resulted in error: operation cancelled: actual cost limit exceeded", answer.json["message"])

    async def test_annotations(self) -> None:
        """An error of an audit annotation refuses the write under Fail (reference POLICY-11)."""
        annotations = [{"key": "a", "valueExpression": "string(object.x)"}]
        await self.put(validating(auditAnnotations=annotations), validationActions=["Audit"])
        answer = await self.create_map()
        self.assertIn(f"expression 'string(object.x)' {NO_KEY}", answer.json["message"])


class AuditTests(PolicyCase):
    async def test_events(self) -> None:
        """Failures and annotations are in the events; empty ones are left out (reference POLICY-10, POLICY-11)."""
        seen: list[dict[str, str]] = []
        judge = Judge.judge

        async def judged(own: Any, pairings: Any, attributes: Any) -> None:
            await judge(own, pairings, attributes)
            seen.append(dict(attributes.request.annotations))

        self.patch(Judge, "judge", judged)
        annotations = [
            {"key": "name", "valueExpression": "string(object.metadata.name)"},
            {"key": "none", "valueExpression": "null"},
            {"key": "empty", "valueExpression": "' '"},
        ]
        await self.put(validating("false", auditAnnotations=annotations), validationActions=["Audit"])
        await self.create_map()
        found = {key: value for key, value in seen[0].items() if "/" in key and "authorization" not in key}
        failure = json.loads(found.pop("validation.policy.admission.orch.io/validation_failure"))
        expected = {"message": "failed expression: false", "policy": "p", "binding": "p", "expressionIndex": 0}
        self.assertEqual(failure, [{**expected, "validationActions": ["Audit"]}])
        self.assertEqual({key: value for key, value in found.items() if key.startswith("p/")}, {"p/name": "x"})
