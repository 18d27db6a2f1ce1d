"""Texts that clients' own tests match, word for word (reference ERR-15, PATCH-18, CRD-1)."""

from __future__ import annotations

from typing import ClassVar

import orjson

from orchtw.naming.naming import Naming
from tests.registry.custom.definitions import definition
from tests.verbs.served import DEFAULT, ServedCase

STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}


class TextCase(ServedCase):
    """Tests that hold in both vocabularies."""

    vocabulary: ClassVar[str]

    def setUp(self) -> None:
        super().setUp()
        self.naming = Naming.of(self.vocabulary)

    def test_unreadable_patch(self) -> None:
        """A strategic merge whose result is not an object of the kind shows the patch."""
        self.done("POST", f"{DEFAULT}/configmaps", {"metadata": {"name": "a"}})
        body = orjson.dumps({"metadata": {"labels": "invalid"}})
        for path in (f"{DEFAULT}/configmaps/a", "/api/v1/namespaces/default", "/api/v1/namespaces/default/status"):
            answer = self.send("PATCH", path, body, STRATEGIC)
            self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"))
            why = 'Invalid value: "map[metadata:map[labels:invalid]]": cannot restore map from string'
            self.assertEqual(answer.json["message"], f' "" is invalid: patch: {why}')
            self.assertEqual(answer.json["details"]["causes"],
                             [{"reason": "FieldValueInvalid", "message": why, "field": "patch"}])  # fmt: skip

    def test_another_kind(self) -> None:
        """A body of another kind is told by its type and the one that is wanted."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}
        rbac = self.naming.group("rbac.authorization.orch.io")
        flow = self.naming.group("flowcontrol.apiserver.orch.io")
        for path, kind, type_name in [
            ("/api/v1/namespaces", "Namespace", "core.Namespace"),
            (f"{DEFAULT}/configmaps", "ConfigMap", "core.ConfigMap"),
            ("/apis/apps/v1/namespaces/default/deployments", "Deployment", "apps.Deployment"),
            (f"/apis/{rbac}/v1/clusterroles", "ClusterRole", "rbac.ClusterRole"),
            (f"/apis/{flow}/v1beta2/flowschemas", "FlowSchema", "flowcontrol.FlowSchema"),
        ]:
            answer = self.send("POST", path, pod)
            why = f"converting (v1.Pod) to ({type_name}): unknown conversion"
            self.assertEqual(
                (answer.code, answer.json["message"]),
                (400, f'Pod in version "v1" cannot be handled as a {kind}: {why}'),
            )
        put = self.send("PUT", "/api/v1/namespaces/default", pod)
        self.assertIn("converting (v1.Pod) to (core.Namespace): unknown conversion", put.json["message"])

    def test_protected_groups(self) -> None:
        """A definition in a group of the API's own asks for an approval, and says where the rule is from."""
        group = self.naming.group("apiextensions.orch.io")
        key = self.naming.translate("api-approved.orch.io")
        obj = definition()
        obj["apiVersion"] = f"{group}/v1"
        obj["spec"]["group"] = f"x.{self.naming.api_domain}"
        obj["metadata"] = {"name": f"{obj['spec']['names']['plural']}.x.{self.naming.api_domain}"}
        address = "https://github.com/kubernetes/enhancements/pull/1111"
        text = f'protected groups must have approval annotation "{key}"'
        answer = self.send("POST", f"/apis/{group}/v1/customresourcedefinitions", obj)
        self.assertIn(f"metadata.annotations[{key}]: Required value: {text}, see {address}", answer.json["message"])
        obj["metadata"]["annotations"] = {key: "no"}
        answer = self.send("POST", f"/apis/{group}/v1/customresourcedefinitions", obj)
        form = 'with either a URL or a reason starting with "unapproved"'
        self.assertIn(f'Invalid value: "no": {text} {form}, see {address}', answer.json["message"])


class OrchVocabularyTests(TextCase):
    vocabulary = "orch"
    more: ClassVar = {"vocabulary": vocabulary}


class KubernetesVocabularyTests(TextCase):
    vocabulary = "kubernetes"
    more: ClassVar = {"vocabulary": vocabulary}


del TextCase
