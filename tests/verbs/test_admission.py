"""Every request that writes or connects passes admission, as what the reference shows of it (reference ADM-1)."""

from __future__ import annotations

from itertools import product

import orjson

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import ChainPlugin
from orchtw.admission.webhooks.patch import patched
from orchtw.errors import InternalError
from orchtw.schema.catalogue import GroupVersionKind, ResourceType
from orchtw.wire.objects import Object
from tests.controllers.asked_certificates import encoded, pem
from tests.verbs.served import APPLY, MERGE, ServedCase

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CERTIFICATES = "/apis/certificates.orch.io/v1/certificatesigningrequests"
REVIEWS = "/apis/authorization.orch.io/v1"
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
PDB = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}


def config_map(name: str = "x", **meta: object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": {"key": "old"}}


class AdmissionCase(ServedCase):
    def pod(self, name: str = "p", node: str = "") -> None:
        spec = {**TEMPLATE["spec"], **({"nodeName": node} if node else {})}
        self.done("POST", "pods", {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": spec})
        self.forget()

    def asked(self, attributes: Attributes) -> tuple[str, str, str, str]:
        """Operation, resource, sub-resource and name."""
        return attributes.operation, attributes.resource.plural, attributes.subresource, attributes.name

    def refuse(self, attributes: Attributes) -> None:
        attributes.warn("refused")
        raise attributes.forbidden("no")


class ObjectTests(AdmissionCase):
    """Admission of writes to objects and collections."""

    def test_verbs(self) -> None:
        """POST, PUT, the patches and DELETE, each with its operation and the kind of its options."""
        for method, path, body, headers, operation in (
            ("POST", "configmaps?fieldManager=me", config_map(), {}, "CREATE"),
            ("PUT", "configmaps/x?fieldManager=me", config_map(labels={"a": "b"}), {}, "UPDATE"),
            ("PATCH", "configmaps/x?fieldManager=me", {"data": {"a": "b"}}, MERGE, "UPDATE"),
            ("PATCH", "configmaps/x?fieldManager=me&force=true", config_map(), APPLY, "UPDATE"),
        ):
            asked = self.seen(method, path, body, headers)
            self.assertEqual(self.asked(asked), (operation, "configmaps", "", "x"))
            kind = f"{operation.title()}Options"
            options = {"kind": kind, "apiVersion": "meta.orch.io/v1", "fieldManager": "me"}
            self.assertEqual((asked.options, asked.dry_run, asked.namespace), (options, False, "default"))
            self.assertIn("system:masters", asked.user.groups)
        asked = self.seen("DELETE", "configmaps/x", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        self.assertEqual(self.asked(asked), ("DELETE", "configmaps", "", "x"))
        self.assertEqual((asked.options or {})["propagationPolicy"], "Background")

    def test_creating(self) -> None:
        """An apply or a PUT that creates is a CREATE."""
        asked = self.seen("PATCH", "configmaps/x?fieldManager=me", config_map(), APPLY)
        self.assertEqual((asked.operation, (asked.options or {})["kind"]), ("CREATE", "CreateOptions"))
        lease = "/apis/coordination.orch.io/v1/namespaces/default/leases/l"
        self.assertEqual(self.seen("PUT", lease, {"metadata": {"name": "l"}}).operation, "CREATE")

    def test_dry_run(self) -> None:
        """A dry run passes every plugin, and the options say so."""
        asked = self.seen("POST", "configmaps?dryRun=All", config_map())
        self.assertTrue(asked.dry_run)
        self.assertEqual((asked.options or {})["dryRun"], ["All"])

    def test_status(self) -> None:
        """So does a write to a sub-resource, which is named."""
        self.pod()
        status = {"status": {"phase": "Running"}}
        asked = self.seen("PATCH", "pods/p/status", status, MERGE)
        self.assertEqual(self.asked(asked), ("UPDATE", "pods", "status", "p"))
        self.assertEqual(asked.kind, GroupVersionKind(group="", version="v1", kind="Pod"))

    def test_collection(self) -> None:
        """A DELETE of a collection is a DELETE of each item."""
        for name in ("a", "b"):
            self.done("POST", "configmaps", config_map(name))
        self.forget()
        self.done("DELETE", "configmaps")
        deleted = [("DELETE", "configmaps", "", "a"), ("DELETE", "configmaps", "", "b")]
        self.assertEqual([self.asked(each) for each in self.plugin.validated], deleted)

    def test_reads(self) -> None:
        """Reads do not pass admission."""
        for path in ("configmaps", "configmaps/x", "pods/p/log"):
            self.send("GET", path)
        self.assertEqual((self.plugin.admitted, self.plugin.validated), ([], []))

    def test_measured(self) -> None:
        """The duration of its admission is among the server's metrics (reference ADM-15)."""
        self.done("POST", "configmaps", config_map())
        text = self.send("GET", "/metrics").body.decode()
        labels = 'name="AlwaysAdmit",operation="CREATE",rejected="false",type="validate"'
        self.assertIn(f"\napiserver_admission_controller_admission_duration_seconds_count{{{labels}}} ", text)

    def test_no_op(self) -> None:
        """A write that changes nothing has been admitted all the same."""
        self.done("POST", "configmaps", config_map())
        self.forget()
        self.assertEqual(self.seen("PATCH", "configmaps/x", {}, MERGE).operation, "UPDATE")

    def test_warnings(self) -> None:
        """Warnings and audit annotations go to the request, also when it is refused."""

        def note(attributes: Attributes) -> None:
            attributes.warn("do not")
            attributes.annotate("a.b/key", "value")

        self.plugin.mutate = note
        answer = self.send("POST", "configmaps", config_map())
        self.assertEqual((answer.code, answer.headers["warning"]), (201, '299 - "do not"'))
        request = self.plugin.only().request
        assert request is not None
        self.assertEqual(request.annotations, {"a.b/key": "value"})
        self.plugin.mutate = self.refuse
        answer = self.send("DELETE", "configmaps/x")
        self.assertEqual((answer.code, answer.headers["warning"]), (403, '299 - "refused"'))
        self.assertEqual(answer.json["message"], 'configmaps "x" is forbidden: no')


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
        """A port that is no number is a 400."""
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


class EndTests(ServedCase):
    """Validating plugins may be notified of the end of a write."""

    def make_plugin(self) -> ChainPlugin:
        self.ended: list[str] = []
        return Watcher(self)

    def test_ends(self) -> None:
        """It has ended when it is stored, has failed, was refused, or was a dry run; each try of it ends once."""
        for method, path, body, code in (
            ("POST", "configmaps", config_map(), 201),
            ("POST", "configmaps", config_map(), 409),
            ("POST", "configmaps?dryRun=All", config_map("y"), 201),
            ("PATCH", "configmaps/x", {"data": {"a": "b"}}, 200),
            ("PATCH", "configmaps/x", {"data": {"a": "b"}}, 200),
            ("PATCH", "configmaps/x", {"metadata": {"labels": {"refused": "yes"}}}, 403),
        ):
            self.ended = []
            self.assertEqual(self.code(method, path, body, MERGE if method == "PATCH" else None), code)
            self.assertEqual(len(self.ended), 1, (method, path))

    def test_stored(self) -> None:
        """Stored objects can be seen then."""
        self.ended = []
        self.done("POST", "configmaps", config_map())
        self.assertEqual(self.ended, ["old"])


class Watcher:
    """Notes what is there when a write of a ConfigMap by people has ended."""

    def __init__(self, test: EndTests) -> None:
        self._test = test

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        return resource.qualified == "configmaps" and operation != "DELETE"

    async def validate(self, attributes: Attributes) -> None:
        obj = attributes.obj or {}
        attributes.on_end(lambda: self._test.ended.append(self._seen(attributes.name)))
        if (obj["metadata"].get("labels") or {}).get("refused"):
            raise attributes.forbidden("refused")

    def _seen(self, name: str) -> str:
        stored = self._test.server.instance.resources.targets.stored_target("", "v1", "configmaps").stored
        entry = stored.get("default", name)
        return "" if entry is None else str(stored.load(entry)["data"]["key"])


MADE_FOR = "the namespace of the provided object does not match the namespace sent on the request"
WRONG_NAME = "the name of the object (other) does not match the name on the URL (d)"
WRONG_PLACE = "the namespace of the object (orch-system) does not match the namespace on the request (default)"


class SettledTests(AdmissionCase):
    """Checks of sub-resources and unstored kinds after webhooks, as of those that clients send
    (reference ADM-20).
    """

    def setUp(self) -> None:
        super().setUp()
        self.pod("p")
        self.pod("n", node="node1")
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
        self.done("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        self.done("POST", "serviceaccounts", {"metadata": {"name": "sa"}})
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "fin"}})
        asked = {"request": encoded(pem()), "signerName": "example.com/s", "usages": ["client auth"]}
        self.done("POST", CERTIFICATES, {"metadata": {"name": "c"}, "spec": asked})
        self.requests = self.made()

    def made(self) -> dict[str, tuple[str, str, Object | None, dict[str, str]]]:
        """A request for each sub-resource that takes a body, and each kind that is not stored."""
        meta, access = {"name": "p"}, {"verb": "get", "resource": "pods", "namespace": "default"}
        subject = {"user": "u", "resourceAttributes": access}
        ephemeral = {"ephemeralContainers": [{"name": "e", "image": "i"}]}
        fin = "/api/v1/namespaces/fin"
        token = "/apis/authentication.orch.io/v1/tokenreviews"
        scale = {"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 3}}
        return {
            "eviction": ("POST", "pods/p/eviction?dryRun=All", {"metadata": meta, "deleteOptions": {}}, {}),
            "binding": ("POST", "pods/p/binding?dryRun=All", {"metadata": meta, "target": {"name": "x"}}, {}),
            "bindings": ("POST", "bindings?dryRun=All", {"metadata": meta, "target": {"name": "x"}}, {}),
            "scale": ("PUT", f"{DEPLOYMENTS}/d/scale?dryRun=All", scale, {}),
            "scale patch": ("PATCH", f"{DEPLOYMENTS}/d/scale?dryRun=All", {"spec": {"replicas": 3}}, MERGE),
            "token": ("POST", "serviceaccounts/sa/token", {"spec": {}}, {}),
            "status": ("PATCH", "pods/p/status?dryRun=All", {"status": {"phase": "Running"}}, MERGE),
            "ephemeral": ("PATCH", "pods/p/ephemeralcontainers?dryRun=All", {"spec": ephemeral}, MERGE),
            "finalize": ("PUT", f"{fin}/finalize?dryRun=All", {"metadata": {"name": "fin"}, "spec": {}}, {}),
            "namespace": ("PATCH", f"{fin}/status?dryRun=All", {"status": {"phase": "Active"}}, MERGE),
            "approval": ("PATCH", f"{CERTIFICATES}/c/approval?dryRun=All", {"metadata": {"labels": {}}}, MERGE),
            "exec": ("GET", "pods/n/exec?command=ls&stdout=true", None, {}),
            "attach": ("GET", "pods/n/attach?stdout=true", None, {}),
            "portforward": ("GET", "pods/n/portforward?ports=80", None, {}),
            "proxy": ("GET", "pods/n/proxy/x", None, {}),
            "subject": ("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": subject}, {}),
            "self": ("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": access}}, {}),
            "local": ("POST", f"{REVIEWS}/namespaces/default/localsubjectaccessreviews", {"spec": subject}, {}),
            "rules": ("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, {}),
            "review": ("POST", token, {"spec": {"token": "x"}}, {}),
        }

    def patched(self, which: str, path: str, value: object, op: str = "add") -> tuple[int, str]:
        """Code and message of the request when a webhook's patch does that."""

        async def mutate(attributes: Attributes) -> None:
            obj = attributes.obj
            assert obj is not None
            read = attributes.surface.reader(attributes.resource, attributes.subresource)
            operations = [{"op": op, "path": path, "value": value}]
            try:
                attributes.fill(patched(obj, orjson.dumps(obj), operations, read).obj)
            except InternalError:
                self.ill_formed += 1
                raise

        self.ill_formed = 0
        self.plugin.mutate = mutate
        answer = self.send(*self.requests[which])
        return answer.code, answer.json.get("message", "")

    def test_other_object(self) -> None:
        """A change of identity is refused."""
        name, namespace = "/metadata/name", "/metadata/namespace"
        eviction, binding = (f"name in URL does not match name in {kind} object" for kind in ("Eviction", "Binding"))
        account = 'TokenRequest.authentication.orch.io "sa" is invalid: metadata'
        account_name = "must match the service account name if specified"
        account_place = "must match the service account namespace if specified"
        immutable = 'is invalid: metadata.name: Invalid value: "other": field is immutable'
        for which, path, value, refusal in (
            ("eviction", name, "other", (400, eviction)),
            ("eviction", namespace, "orch-system", (400, MADE_FOR)),
            ("binding", name, "other", (400, binding)),
            ("bindings", name, "other", (400, binding)),
            ("binding", namespace, "orch-system", (400, MADE_FOR)),
            ("scale", name, "other", (400, WRONG_NAME)),
            ("scale patch", name, "other", (400, WRONG_NAME)),
            ("scale", namespace, "orch-system", (400, WRONG_PLACE)),
            ("token", name, "other", (422, f'{account}.name: Invalid value: "other": {account_name}')),
            ("token", namespace, "x", (422, f'{account}.namespace: Invalid value: "x": {account_place}')),
            ("status", name, "other", (422, f'Pod "other" {immutable}')),
            ("ephemeral", name, "other", (400, WRONG_NAME.replace("(d)", "(p)"))),
            ("ephemeral", namespace, "orch-system", (400, WRONG_PLACE)),
            ("approval", name, "other", (422, f'CertificateSigningRequest.certificates.orch.io "other" {immutable}')),
            ("finalize", name, "other", (422, f'Namespace "other" {immutable}')),
            ("namespace", name, "other", (422, f'Namespace "other" {immutable}')),
        ):  # fmt: skip
            with self.subTest(which=which, path=path):
                self.assertEqual(self.patched(which, path, value), refusal)

    def test_other_uid(self) -> None:
        """A Scale of an object that is gone by now scales nothing."""
        code, message = self.patched("scale", "/metadata/uid", "other")
        self.assertEqual(code, 409)
        self.assertIn("Precondition failed: UID in precondition: other, UID in object meta: ", message)

    def test_audiences(self) -> None:
        """A token without audiences gets the server's own, even if a plugin removed them (reference AUTHN-28)."""
        for value in ([], None):
            self.assertEqual(self.patched("token", "/spec/audiences", value)[0], 201)
        self.assertEqual(self.patched("token", "/spec", {})[0], 201)
        code, message = self.patched("token", "/spec/expirationSeconds", 1)
        self.assertEqual(code, 422)
        self.assertIn("spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10", message)

    def test_no_trouble(self) -> None:
        """Whatever a patch does to whatever object, there is an answer: that of the checks, or the refusal (500) of a
        webhook whose patch leaves no such object. Never a traceback.
        """
        paths = ["/metadata", "/metadata/name", "/metadata/namespace", "/metadata/uid", "/spec", "/status", "/target"]
        paths += ["/deleteOptions", "/container", "/command", "/ports", "/path", "/apiVersion", "/kind", ""]
        keys = ("audiences", "expirationSeconds", "boundObjectRef", "replicas", "user", "groups", "extra", "token")
        paths += [f"/spec/{key}" for key in (*keys, "resourceAttributes", "nonResourceAttributes", "namespace")]
        values = (None, {}, [], "", "x", 0, -1, 1 << 70, True, [None], [{}], {"a": None}, "../x\r\nA: b")
        for which in self.requests:
            for path, value in product(paths, values):
                code, message = self.patched(which, path, value)
                self.assertEqual(self.flushLoggedErrors(), [], (which, path, value))
                if code == 500:
                    self.assertTrue(self.ill_formed, (which, path, value, message))
                    self.assertTrue(message.startswith("Internal error occurred: "), message)
