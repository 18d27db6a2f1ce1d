"""Requests to sub-resources and reviews pass admission as their own kinds (reference ADM-1)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes
from orchtw.schema.declarations import GroupVersionKind
from orchtw.wire.objects import Object
from tests.verbs.admission_case import DEPLOYMENTS, REVIEWS, TEMPLATE, AdmissionCase
from tests.verbs.served import APPLY, MERGE

PDB = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}


class ScaleTests(AdmissionCase):
    def setUp(self) -> None:
        super().setUp()
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
        self.done("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        self.forget()

    def replicas(self) -> int:
        found: int = self.done("GET", f"{DEPLOYMENTS}/d")["spec"]["replicas"]
        return found

    def writes(self) -> list[tuple[str, Object, dict[str, str]]]:
        """A PUT, a patch and an apply of a Scale of 3."""
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "d", "namespace": "default"},
            "spec": {"replicas": 3},
        }
        return [("PUT", scale, {}), ("PATCH", {"spec": {"replicas": 3}}, MERGE), ("PATCH", scale, APPLY)]

    def test_kind(self) -> None:
        """At /scale plugins see Scales, new and old."""
        for method, body, headers in self.writes():
            self.done("PUT", f"{DEPLOYMENTS}/d/scale", {**self.writes()[0][1], "spec": {"replicas": 1}})
            self.forget()
            query = "?fieldManager=me&force=true" if headers is APPLY else ""
            asked = self.seen(method, f"{DEPLOYMENTS}/d/scale{query}", body, headers)
            assert asked.obj is not None and asked.old is not None
            self.assertEqual(asked.kind, GroupVersionKind(group="autoscaling", version="v1", kind="Scale"))
            self.assertEqual((asked.obj["kind"], asked.old["kind"]), ("Scale", "Scale"))
            self.assertEqual((asked.obj["spec"], asked.old["spec"]), ({"replicas": 3}, {"replicas": 1}))
            self.assertEqual(self.replicas(), 3)

    def test_changed(self) -> None:
        """A plugin may choose the replicas; a number below zero is a 422."""

        async def choose(attributes: Attributes, replicas: int) -> None:
            (await attributes.edit())["spec"]["replicas"] = replicas

        self.plugin.mutate = lambda attributes: choose(attributes, 2)
        answer = self.done("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}}, MERGE)
        self.assertEqual((answer["spec"], self.replicas()), ({"replicas": 2}, 2))
        self.plugin.mutate = lambda attributes: choose(attributes, -1)
        self.assertEqual(self.code("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}}, MERGE), 422)


class EvictionTests(AdmissionCase):
    def eviction(self, api_version: str = "policy/v1", **more: object) -> Object:
        return {"apiVersion": api_version, "kind": "Eviction", "metadata": {"name": "p"}, **more}

    def test_kind(self) -> None:
        """An eviction is the CREATE of an Eviction, in either version of the body; the deletion is not shown."""
        for api_version in ("policy/v1", "policy/v1beta1"):
            self.pod()
            asked = self.seen("POST", "pods/p/eviction", self.eviction(api_version))
            self.assertEqual(self.asked(asked), ("CREATE", "pods", "eviction", "p"))
            self.assertEqual(asked.kind, GroupVersionKind(group="policy", version="v1", kind="Eviction"))
            assert asked.obj is not None
            self.assertEqual((asked.obj["apiVersion"], asked.old), ("policy/v1", None))
            self.assertEqual(self.code("GET", "pods/p"), 404)

    def test_refused(self) -> None:
        """A refusal keeps the pod and takes nothing from its budget."""
        self.pod()
        self.plugin.mutate = self.refuse
        self.assertEqual(self.code("POST", "pods/p/eviction", self.eviction()), 403)
        self.assertEqual(self.code("GET", "pods/p"), 200)

    def test_changed(self) -> None:
        """A plugin may change how the pod is deleted."""

        async def dry(attributes: Attributes) -> None:
            (await attributes.edit())["deleteOptions"] = {"dryRun": ["All"]}

        self.pod()
        self.plugin.mutate = dry
        self.assertEqual(self.code("POST", "pods/p/eviction", self.eviction()), 201)
        self.assertEqual(self.code("GET", "pods/p"), 200)

    def test_budget(self) -> None:
        """The budget's use is the server's own write, not the requester's."""
        budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        self.pod(node="n")
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.done("PATCH", "pods/p/status", {"status": running}, MERGE)
        self.done("POST", budgets, PDB)
        status = {"disruptionsAllowed": 1, "observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1}
        self.done("PATCH", f"{budgets}/b/status", {"status": {**status, "expectedPods": 2}}, MERGE)
        self.forget()
        self.seen("POST", "pods/p/eviction", self.eviction())
        self.assertEqual(self.done("GET", f"{budgets}/b")["status"]["disruptionsAllowed"], 0)

    def test_terminating_namespace(self) -> None:
        """As any create it is refused where the namespace is ending, and says so in a cause (reference ERR-6)."""
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        pods = "/api/v1/namespaces/n/pods"
        self.done("POST", pods, {"metadata": {"name": "p"}, "spec": TEMPLATE["spec"]})
        self.done("DELETE", "/api/v1/namespaces/n")
        answer = self.send("POST", f"{pods}/p/eviction", self.eviction())
        self.assertEqual((answer.code, answer.json["details"]["causes"][0]["reason"]), (403, "NamespaceTerminating"))
        self.assertEqual(self.code("DELETE", f"{pods}/p"), 200)


class BindingTests(AdmissionCase):
    def binding(self) -> Object:
        return {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}

    def node(self) -> str | None:
        found: str | None = self.done("GET", "pods/p")["spec"].get("nodeName")
        return found

    def test_kind(self) -> None:
        """A binding is the CREATE of a Binding, below the pod or by itself; the pod's update is not shown."""
        for path, resource, subresource in (("pods/p/binding", "pods", "binding"), ("bindings", "bindings", "")):
            self.pod()
            asked = self.seen("POST", path, self.binding())
            self.assertEqual(self.asked(asked), ("CREATE", resource, subresource, "p"))
            self.assertEqual(asked.kind, GroupVersionKind(group="", version="v1", kind="Binding"))
            self.assertEqual(self.node(), "n")
            self.done("DELETE", "pods/p", {"gracePeriodSeconds": 0})

    def test_changed(self) -> None:
        """A plugin may choose another node."""

        async def choose(attributes: Attributes) -> None:
            (await attributes.edit())["target"]["name"] = "other"

        self.pod()
        self.plugin.mutate = choose
        self.done("POST", "pods/p/binding", self.binding())
        self.assertEqual(self.node(), "other")

    def test_refused(self) -> None:
        """A refusal leaves the pod without a node; so does a dry run."""
        self.pod()
        self.assertTrue(self.seen("POST", "pods/p/binding?dryRun=All", self.binding()).dry_run)
        self.plugin.mutate = self.refuse
        self.assertEqual(self.code("POST", "pods/p/binding", self.binding()), 403)
        self.assertIsNone(self.node())


class ConnectTests(AdmissionCase):
    """Connections to node agents and backends, which are not there (reference ADM-1)."""

    def connected(self, method: str, path: str) -> Attributes:
        """Return what plugins see; no connection is made, as no node or pod has an address."""
        self.assertIn(self.code(method, path), (400, 404, 500))
        return self.plugin.only()

    def test_options(self) -> None:
        """Plugins see the options that the query says, with their kind."""
        self.pod(node="n")
        self.done("POST", "services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
        self.done("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        self.forget()
        for path, kind, expected in (
            ("pods/p/exec?command=ls&command=-l&stdin&tty=false&container=c", "PodExecOptions",
             {"stdin": True, "container": "c", "command": ["ls", "-l"]}),
            ("pods/p/attach?stdout=true", "PodAttachOptions", {"stdout": True}),
            ("pods/p/portforward?ports=80&ports=81", "PodPortForwardOptions", {"ports": [80, 81]}),
            ("pods/p/proxy/a/b?path=no", "PodProxyOptions", {"path": "/a/b"}),
            ("services/s/proxy", "ServiceProxyOptions", {}),
            ("/api/v1/nodes/n/proxy/metrics", "NodeProxyOptions", {"path": "/metrics"}),
        ):
            asked = self.connected("GET", path)
            self.assertEqual((asked.operation, asked.kind.kind), ("CONNECT", kind))
            self.assertEqual(asked.obj, {"kind": kind, "apiVersion": "v1", **expected})
            self.assertEqual((asked.old, asked.options, asked.dry_run), (None, None, False))

    def test_changed(self) -> None:
        """A connection uses the options as plugins left them."""

        async def choose(attributes: Attributes) -> None:
            (await attributes.edit())["container"] = "other"

        self.pod(node="n")
        self.plugin.mutate = choose
        answer = self.send("GET", "pods/p/exec?container=c")
        self.assertEqual((answer.code, answer.json["message"]), (400, "container other is not valid for pod p"))

    def test_methods(self) -> None:
        """Every method of a proxy request connects."""
        self.pod(node="n")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
            self.assertEqual(self.connected(method, "pods/p/proxy").operation, "CONNECT")
        self.assertEqual(self.connected("POST", "pods/p/exec").operation, "CONNECT")

    def test_before_the_object(self) -> None:
        """Admission comes before the object is looked up."""
        self.assertEqual(self.connected("GET", "pods/nope/exec").name, "nope")
        self.plugin.mutate = self.refuse
        answer = self.send("GET", "pods/nope/exec")
        self.assertEqual((answer.code, answer.json["message"]), (403, 'pods "nope" is forbidden: no'))

    def test_wrong_port(self) -> None:
        """A port that is not a number is a 400."""
        self.assertEqual(self.code("GET", "pods/p/portforward?ports=http"), 400)


class ReviewTests(AdmissionCase):
    """Reviews are creates (reference ADM-1)."""

    def review(self) -> Object:
        return {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}}

    def test_shown(self) -> None:
        """A review is the CREATE of its kind, though nothing is stored."""
        asked = self.seen("POST", f"{REVIEWS}/selfsubjectaccessreviews", self.review())
        self.assertEqual(self.asked(asked), ("CREATE", "selfsubjectaccessreviews", "", ""))
        self.assertEqual(asked.kind.kind, "SelfSubjectAccessReview")

    def test_refused(self) -> None:
        """And can be refused."""
        self.plugin.mutate = self.refuse
        answer = self.send("POST", f"{REVIEWS}/selfsubjectaccessreviews", self.review())
        self.assertEqual(answer.code, 403)
        self.assertIn('"Unknown" is forbidden: no', answer.json["message"])

    def test_missing_namespace(self) -> None:
        """A local review tells nobody whether a namespace is there."""
        body = {"spec": {"user": "eve", **self.review()["spec"]}}
        body["spec"]["resourceAttributes"]["namespace"] = "nope"
        path = f"{REVIEWS}/namespaces/nope/localsubjectaccessreviews"
        self.assertEqual(self.code("POST", path, body), 201)
