"""Owners of fields, conflicts and dry runs of applies, as the API answers them (reference APPLY-3 to APPLY-31)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from orchtw.wire.objects import Object
from tests.verbs.served import APPLY, MERGE, ServedCase

DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/d"

def config_map(data: dict[str, str] | None = None, /, **meta: object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", **meta}, "data": data or {}}


def deployment(**pod: object) -> Object:
    """A Deployment whose container has a port, without its protocol, and arguments."""
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "args": ["a", "b"]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container], **pod}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


class OwnershipCase(ServedCase):
    """A server, and applies by several managers."""

    def apply(self, manager: str, path: str, obj: Object, code: int = 200, query: str = "") -> Any:
        """The answer to an apply, which must have this code."""
        answer = self.send("PATCH", f"{path}?fieldManager={manager}{query}", obj, APPLY)
        self.assertEqual(answer.code, code, answer.body)
        return answer.json

    def owned(self, obj: Object, manager: str, subresource: str = "") -> Any:
        """The fields that a manager owns by its one entry; None without any."""
        entries = [
            each["fieldsV1"]
            for each in obj["metadata"].get("managedFields", [])
            if (each["manager"], each.get("subresource", "")) == (manager, subresource)
        ]
        self.assertLessEqual(len(entries), 1)
        return entries[0] if entries else None


class OwnedFieldTests(OwnershipCase):
    """Fields that entries have."""

    def test_of_nobody(self) -> None:
        """Type, place and the server's metadata have no owner; generateName and labels have one (APPLY-3)."""
        meta = {"labels": {"a": "b"}, "selfLink": "/x", "clusterName": "c", "generation": 5, "namespace": "default"}
        created = self.done("POST", "configmaps?fieldManager=me", config_map(uid="u", **meta))
        applied = self.apply("me", "configmaps/y", {**config_map(), "metadata": {"name": "y", **meta}}, 201)
        generated = {"metadata": {"generateName": "g-", "labels": {"a": "b"}}}
        generated = self.done("POST", "configmaps?fieldManager=me", generated)
        for obj in (created, applied, generated):
            fields = self.owned(obj, "me")
            self.assertLessEqual(fields.keys(), {"f:metadata", "f:data"})
            names = {key.removeprefix("f:") for key in fields["f:metadata"]}
            self.assertEqual(names, {"labels", "generateName"} if obj is generated else {"labels"})

    def test_of_the_other_door(self) -> None:
        """The main path owns nothing of the status, /status nothing of the spec and its metadata (APPLY-6)."""
        body = {**deployment(), "status": {"replicas": 3}}
        made = self.done("POST", f"{DEPLOYMENT[:-2]}?fieldManager=me", body)
        self.assertNotIn("f:status", self.owned(made, "me"))
        changed = deepcopy(made)
        changed["status"] = {"replicas": 4, "observedGeneration": 1}
        changed["spec"]["replicas"] = 9
        changed["metadata"]["labels"] = {"a": "b"}
        stored = self.done("PUT", f"{DEPLOYMENT}/status?fieldManager=agent", changed)
        status: Object = {"f:status": {"f:observedGeneration": {}, "f:replicas": {}}}
        self.assertEqual(self.owned(stored, "agent", "status"), status)
        stored["spec"]["replicas"], stored["status"] = 2, {"replicas": 5}
        stored = self.done("PUT", f"{DEPLOYMENT}?fieldManager=scaler", stored)
        self.assertEqual(self.owned(stored, "scaler"), {"f:spec": {"f:replicas": {}}})
        applied = {**deployment(), "status": {"replicas": 7}}
        applied = self.apply("applier", DEPLOYMENT, applied)
        self.assertNotIn("f:status", self.owned(applied, "applier"))
        self.assertEqual(applied["status"]["replicas"], 4)

    def test_structure(self) -> None:
        """Ownership is as fine as the type is granular; items have their values or keys (APPLY-17, APPLY-27)."""
        obj = deployment(nodeSelector={"a": "b"}, tolerations=[{"key": "k", "operator": "Exists"}])
        obj["metadata"] |= {"labels": {"a": "b", "c": "d"}, "finalizers": ["example.com/a", "example.com/b"]}
        fields = self.owned(self.apply("me", DEPLOYMENT, obj, 201), "me")
        finalizers: Object = {'v:"example.com/a"': {}, 'v:"example.com/b"': {}}
        self.assertEqual(fields["f:metadata"], {"f:finalizers": finalizers, "f:labels": {"f:a": {}, "f:c": {}}})
        pod = fields["f:spec"]["f:template"]["f:spec"]
        port: Object = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
        container = {".": {}, "f:args": {}, "f:image": {}, "f:name": {}, "f:ports": port}
        expected = {"f:containers": {'k:{"name":"c"}': container}, "f:nodeSelector": {}, "f:tolerations": {}}
        self.assertEqual((pod, fields["f:spec"]["f:selector"]), (expected, {}))

    def test_items_of_others(self) -> None:
        """Managers share sets and keyed lists item by item, and exclude each other from atomic ones (APPLY-27)."""
        self.apply("one", DEPLOYMENT, deployment(nodeSelector={"a": "b"}), 201)
        other = {"apiVersion": "apps/v1", "kind": "Deployment"}
        second = [{"name": "second", "image": "i"}]
        pod: Object = {"containers": second, "imagePullSecrets": [{"name": "s"}]}
        obj = {**other, "metadata": {"finalizers": ["example.com/b"]}, "spec": {"template": {"spec": pod}}}
        found = self.apply("two", DEPLOYMENT, obj)["spec"]["template"]["spec"]
        self.assertEqual([each["name"] for each in found["containers"]], ["c", "second"])
        same_port = [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "web"}]}]
        obj = {**other, "spec": {"template": {"spec": {"containers": same_port}}}}
        (port,) = self.apply("three", DEPLOYMENT, obj)["spec"]["template"]["spec"]["containers"][0]["ports"]
        self.assertEqual(port, {"containerPort": 80, "protocol": "TCP", "name": "web"})
        for pod, field in (
            ({"nodeSelector": {"c": "d"}}, ".spec.template.spec.nodeSelector"),
            ({"containers": [{"name": "c", "args": ["a"]}]}, '.spec.template.spec.containers[name="c"].args'),
        ):
            status = self.apply("four", DEPLOYMENT, {**other, "spec": {"template": {"spec": pod}}}, 409)
            self.assertEqual([each["field"] for each in status["details"]["causes"]], [field])


class ConflictTests(OwnershipCase):
    """Conflicts between managers (reference APPLY-21)."""

    def setUp(self) -> None:
        super().setUp()
        self.apply("one", "configmaps/x", config_map({"a": "1", "b": "1"}), 201)
        self.done("PATCH", "configmaps/x?fieldManager=two", {"data": {"c": "1", "d": "1"}}, MERGE)

    def test_all_told(self) -> None:
        """Each leaf of another value that somebody applied or updated is told; updates have none (APPLY-21)."""
        sent = config_map({"a": "2", "b": "1", "c": "2", "d": "1", "e": "1"})
        status = self.apply("three", "configmaps/x", sent, 409)
        causes = [(each["reason"], each["field"]) for each in status["details"]["causes"]]
        self.assertEqual(causes, [("FieldManagerConflict", ".data.a"), ("FieldManagerConflict", ".data.c")])
        messages = [each["message"] for each in status["details"]["causes"]]
        self.assertEqual(messages[0], 'conflict with "one"')
        self.assertTrue(messages[1].startswith('conflict with "two" using v1 at '), messages[1])
        self.done("PUT", "configmaps/x?fieldManager=three", config_map({"a": "2", "b": "2", "c": "2"}))

    def test_force(self) -> None:
        """With force the applier's values count, and are its own alone (APPLY-21)."""
        sent = config_map({"a": "2", "c": "2"})
        self.apply("three", "configmaps/x", sent, 409)
        found = self.apply("three", "configmaps/x", sent, query="&force=true")
        self.assertEqual(found["data"], {"a": "2", "b": "1", "c": "2", "d": "1"})
        fields = [self.owned(found, manager)["f:data"].keys() - {"."} for manager in ("one", "two", "three")]
        self.assertEqual(fields, [{"f:b"}, {"f:d"}, {"f:a", "f:c"}])

    def test_dry_runs(self) -> None:
        """A dry run is answered as the apply is, conflict or not, but for versions and times (APPLY-30)."""
        for manager, data, query, code in (
            ("three", {"a": "2"}, "", 409),
            ("three", {"a": "2"}, "&force=true", 200),
            ("three", {"a": "2"}, "", 200),
            ("one", {"b": "3"}, "", 200),
        ):
            before = self.done("GET", "configmaps/x")
            tried = self.apply(manager, "configmaps/x", config_map(data), code, f"{query}&dryRun=All")
            self.assertEqual(self.done("GET", "configmaps/x"), before)
            made = self.apply(manager, "configmaps/x", config_map(data), code, query)
            for answer in (tried, made):
                answer["metadata"].pop("resourceVersion", None)
            self.assertEqual(tried, made)

    def test_any_order(self) -> None:
        """Applies of different fields come to the same in any order; once more they change nothing (APPLY-31)."""
        found = []
        for first, second in (("m", "n"), ("n", "m")):
            self.send("DELETE", "configmaps/x")
            for manager in (first, second):
                sent = config_map({manager: "1"}, labels={manager: "1"})
                answer = self.send("PATCH", f"configmaps/x?fieldManager={manager}", sent, APPLY)
                self.assertIn(answer.code, (200, 201))
            now = self.store.now
            for manager in (second, first):
                self.apply(manager, "configmaps/x", config_map({manager: "1"}, labels={manager: "1"}))
            self.assertEqual(self.store.now, now)
            obj = self.done("GET", "configmaps/x")
            owned = {each["manager"]: each["fieldsV1"] for each in obj["metadata"]["managedFields"]}
            self.assertEqual(len(owned), 2)
            found.append((obj["data"], obj["metadata"]["labels"], owned))  # times may differ, and with them the order
        self.assertEqual(*found)
