"""Values in refusals, with the types that the release shows (reference ERR-5)."""

from __future__ import annotations

from typing import Any, ClassVar

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object
from tests.verbs.served import DEFAULT, MERGE, ServedCase

SELECTOR = "v1.LabelSelector{MatchLabels:%s, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}"
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
APPS = "/apis/apps/v1/namespaces/default"


def workload(**spec: Any) -> Object:
    return {"metadata": {"name": "x"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec}}  # fmt: skip


class TypedValueCase(ServedCase):
    """Tests that hold in both vocabularies."""

    vocabulary: ClassVar[str]

    def group(self, neutral: str) -> str:
        return f"/apis/{Naming.of(self.vocabulary).api_version(neutral)}"

    def assertTold(self, path: str, obj: Object | bytes, cause: str, method: str = "POST", **headers: str) -> None:
        """The request is a 422 of which this is one cause."""
        answer = self.send(method, path, obj, headers)
        self.assertEqual(answer.code, 422, answer)
        told = [f"{each['field']}: {each['message']}" for each in answer.json["details"]["causes"]]
        self.assertIn(cause, told)

    def test_webhooks(self) -> None:
        """Operations are of a type of their own, API groups are texts."""
        path = f"{self.group('admissionregistration.orch.io/v1')}/validatingwebhookconfigurations"
        rule = {"operations": ["*", "CREATE"], "apiGroups": ["*", "a"], "apiVersions": ["*"], "resources": ["*"]}
        hook = {"name": "a.b.c", "rules": [rule], "clientConfig": {"url": "https://a"}, "sideEffects": "None",
                "admissionReviewVersions": ["v1"]}  # fmt: skip
        obj = {"metadata": {"name": "x"}, "webhooks": [hook]}
        told = 'Invalid value: []admissionregistration.OperationType{"*", "CREATE"}: '
        text = f"webhooks[0].rules[0].operations: {told}if '*' is present, must not specify other operations"
        self.assertTold(path, obj, text)
        text = """Invalid value: []string{"*", "a"}: if '*' is present, must not specify other API groups"""
        self.assertTold(path, obj, f"webhooks[0].rules[0].apiGroups: {text}")

    def test_selectors(self) -> None:
        """An empty selector, and one that does not change."""
        empty = SELECTOR % "map[string]string(nil)"
        for plural, word in (("deployments", "deployment"), ("statefulsets", "statefulset")):
            text = f"spec.selector: Invalid value: {empty}: empty selector is invalid for {word}"
            self.assertTold(f"{APPS}/{plural}", workload(selector={}), text)
        self.done("POST", f"{APPS}/deployments", workload())
        other = SELECTOR % 'map[string]string{"c":"d"}'
        patch = b'{"spec":{"selector":{"matchLabels":{"a":null,"c":"d"}}}}'
        text = f"spec.selector: Invalid value: {other}: field is immutable"
        self.assertTold(f"{APPS}/deployments/x", patch, text, "PATCH", **MERGE)

    def test_strategies(self) -> None:
        """Strategies are structs, amounts numbers or texts."""
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
        none = 'Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0'
        field = "spec.strategy.rollingUpdate.maxUnavailable"
        self.assertTold(f"{APPS}/deployments", workload(strategy=strategy), f"{field}: {none}")
        rolling = "RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)"
        slow = f'apps.StatefulSetUpdateStrategy{{Type:"Slow", {rolling}}}'
        text = f"spec.updateStrategy: Invalid value: {slow}: must be 'RollingUpdate' or 'OnDelete'"
        self.assertTold(f"{APPS}/statefulsets", workload(updateStrategy={"type": "Slow"}), text)

    def test_core(self) -> None:
        """Lists and structs of the core group."""
        spec = {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}
        scopes = '[]core.ResourceQuotaScope{"BestEffort", "NotBestEffort"}'
        text = f"spec.scopes: Invalid value: {scopes}: conflicting scopes"
        self.assertTold(f"{DEFAULT}/resourcequotas", {"metadata": {"name": "q"}, "spec": spec}, text)
        toleration = {"key": "a", "operator": "Exists", "value": "b"}
        pod = {"metadata": {"name": "p"}, "spec": {**TEMPLATE["spec"], "tolerations": [toleration]}}
        value = 'core.Toleration{Key:"a", Operator:"Exists", Value:"b", Effect:"", TolerationSeconds:(*int64)(nil)}'
        why = "value must be empty when `operator` is 'Exists'"
        self.assertTold(f"{DEFAULT}/pods", pod, f"spec.tolerations[0].operator: Invalid value: {value}: {why}")

    def test_network_policies(self) -> None:
        """Go-typed lists of policies in texts."""
        path = f"{self.group('networking.orch.io/v1')}/namespaces/default/networkpolicies"
        spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]}
        obj = {"metadata": {"name": "n"}, "spec": spec}
        value = '[]networking.PolicyType{"Ingress", "Egress", "Ingress"}'
        text = f"spec.policyTypes: Invalid value: {value}: may not specify more than two policyTypes"
        self.assertTold(path, obj, text)


class OrchVocabularyTests(TypedValueCase):
    vocabulary = "orch"
    more: ClassVar = {"vocabulary": vocabulary}


class KubernetesVocabularyTests(TypedValueCase):
    vocabulary = "kubernetes"
    more: ClassVar = {"vocabulary": vocabulary}


del TypedValueCase
