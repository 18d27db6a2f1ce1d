"""Paths, parameters and rights of requests, as the verbs answer them (reference REQ-1 to REQ-23)."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from twisted.logger import capturedLogs, formatEvent

from orchtw.admission.attributes import Attributes
from orchtw.errors import Forbidden, InternalError, StatusError, TooManyRequests
from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.verbs.objects import config_map
from tests.verbs.served import APPLY, MERGE, ServedCase

NAMESPACES = "/api/v1/namespaces"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
RBAC = "/apis/rbac.authorization.orch.io/v1"
BOB = {"impersonate-user": "bob"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
TABLE = {"accept": "application/json;as=Table;g=meta.orch.io;v=v1"}
NOWHERE = "the server could not find the requested resource"


def deployment(name: str) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


class RequestCase(ServedCase):
    """A server, and a user bob with few rights."""

    def allow(self, *rules: Object) -> None:
        """Give bob these rights everywhere."""
        group = "rbac.authorization.orch.io"
        self.done("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "few"}, "rules": rules})
        binding = {
            "metadata": {"name": "few"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "few"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "bob"}],
        }
        self.done("POST", f"{RBAC}/clusterrolebindings", binding)

    def refused(
        self, code: int, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Object:
        """The Status of a request that is answered with this code."""
        answer = self.send(method, path, body, headers)
        self.assertEqual(answer.code, code, f"{method} {path}: {answer.body!r}")
        status: Object = answer.json
        self.assertEqual((status["kind"], status["status"], status["code"]), ("Status", "Failure", code))
        return status


class PathTests(RequestCase):
    """Resources behind paths, and the rights that they need."""

    def test_terms(self) -> None:
        """URLs name types, objects kinds; a sub-resource has rights and a kind of its own (reference REQ-1)."""
        self.assertEqual(self.done("GET", DEPLOYMENTS)["kind"], "DeploymentList")
        self.assertEqual(self.done("POST", DEPLOYMENTS, deployment("d"))["kind"], "Deployment")
        self.allow({"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get"]})
        self.assertEqual(self.done("GET", f"{DEPLOYMENTS}/d/scale", None, BOB)["kind"], "Scale")
        self.refused(403, "GET", f"{DEPLOYMENTS}/d", None, BOB)
        self.refused(403, "GET", f"{DEPLOYMENTS}/d/status", None, BOB)

    def test_one_object_a_write(self) -> None:
        """A write is of one object: no list can be created; collections are deleted one by one (reference REQ-3)."""
        pair = [config_map("a"), config_map("b")]
        for kind in ("List", "ConfigMapList"):
            self.refused(400, "POST", "configmaps", {"apiVersion": "v1", "kind": kind, "items": pair})
        self.refused(400, "POST", "configmaps", pair)
        self.assertEqual(self.done("GET", "configmaps")["items"], [])
        for each in pair:
            self.done("POST", "configmaps", each)
        self.assertEqual([each["metadata"]["name"] for each in self.done("GET", "configmaps")["items"]], ["a", "b"])
        before = self.store.now
        self.done("DELETE", "configmaps")
        self.assertEqual(self.store.now, before + 2)

    def test_namespaces(self) -> None:
        """A namespace and its two sub-resources are not in a namespace; no namespace is (reference REQ-5, REQ-7)."""
        found = self.done("GET", f"{NAMESPACES}/default")
        self.assertEqual((found["kind"], found["metadata"].get("namespace")), ("Namespace", None))
        self.assertEqual(self.done("GET", f"{NAMESPACES}/default/status"), found)
        self.assertEqual(self.done("PUT", f"{NAMESPACES}/default/finalize", found)["kind"], "Namespace")
        self.assertEqual(self.done("GET", f"{NAMESPACES}/default/pods")["kind"], "PodList")
        inside = ("scale", "namespaces", "namespaces/default", "namespaces/default/status", "namespaces/x/pods")
        for segment in inside:
            self.assertEqual(self.refused(404, "GET", f"{NAMESPACES}/default/{segment}")["message"], NOWHERE)
        self.refused(404, "GET", "/api/v1/watch/namespaces/default/namespaces")
        self.refused(404, "DELETE", f"{NAMESPACES}/default/namespaces/orch-node-lease")

    def test_verbs_of_subresources(self) -> None:
        """GET of a sub-resource is get, POST is create; below /proxy/ the verb is proxy (reference REQ-13)."""
        told = "pods \"x\" is forbidden: User \"bob\" cannot {} resource \"pods{}\""
        for method, path, verb, subresource in (
            ("GET", "pods/x/exec", "get", "/exec"),
            ("POST", "pods/x/exec", "create", "/exec"),
            ("GET", "pods/x/portforward", "get", "/portforward"),
            ("POST", "pods/x/attach", "create", "/attach"),
            ("GET", "/api/v1/proxy/namespaces/default/pods/x", "proxy", ""),
        ):
            status = self.refused(403, method, path, None, BOB)
            self.assertTrue(status["message"].startswith(told.format(verb, subresource)), status["message"])

    def test_selected_name(self) -> None:
        """Rights for one name are enough to list, watch and delete what is selected by it (reference READ-23)."""
        verbs = ["list", "watch", "deletecollection"]
        self.allow({"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x"], "verbs": verbs})
        for selector, allowed in (
            ("metadata.name=x", True),
            ("metadata.name==x,metadata.namespace=default", True),
            ("metadata.name=y", False),
            ("metadata.name!=x", False),
            ("metadata.namespace=default", False),
            ("", False),
        ):
            self.send("POST", "configmaps", config_map())
            path = f"configmaps?fieldSelector={quote(selector)}"
            code = 200 if allowed else 403
            self.assertEqual(self.code("GET", path, None, BOB), code, selector)
            self.assertEqual(self.code("DELETE", path, None, BOB), code, selector)
            if allowed:
                self.run_async(self.server.watch(f"/api/v1/namespaces/default/{path}&watch=1", BOB)).close()
            else:
                self.refused(403, "GET", f"{path}&watch=1", None, BOB)


    def test_discovery(self) -> None:
        """Users may read discovery, everybody version and health, and nobody else more (reference DISC-10)."""
        discovery = ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3")
        for paths, expected in (
            (discovery, (200, 403)),
            (("/version", "/version/", "/healthz", "/livez", "/readyz"), (200, 200)),
            (("/metrics", "/logs/", "/api/v1/namespaces"), (403, 403)),
        ):
            for path in paths:
                codes = self.code("GET", path, None, BOB), self.code("GET", path, None, {"authorization": ""})
                self.assertEqual(codes, expected, path)


    def test_documented(self) -> None:
        """Paths of discovery are operations of the OpenAPI document (reference OPENAPI-16)."""
        paths = self.done("GET", "/openapi/v2")["paths"]
        for path in ("/api/", "/api/v1/", "/apis/", "/apis/apps/", "/apis/apps/v1/", "/version/"):
            self.assertIn("get", paths[path], path)


class ParameterTests(RequestCase):
    """Query parameters (reference REQ-17)."""

    def test_of_each_verb(self) -> None:
        """Each verb reads its parameters, wrong ones are refused, and those of other verbs are ignored (REQ-17)."""
        self.done("POST", "configmaps", config_map())
        new, patch = config_map("new"), {"data": {"key": "new"}}
        lists = {
            "labelSelector=a=b=c": 400, "fieldSelector=xx": 400, "limit=a": 400, "continue=x": 400,
            "resourceVersion=a": 400, "resourceVersionMatch=Exact": 422, "timeoutSeconds=a": 400,
        }  # fmt: skip
        deletes = {
            "dryRun=x": 422, "gracePeriodSeconds=a": 400, "propagationPolicy=x": 422,
            "orphanDependents=1&propagationPolicy=Orphan": 422,
        }  # fmt: skip
        writes = {"dryRun=x": 422, "fieldManager=%07": 422, "fieldValidation=x": 422}
        everything = {**lists, **deletes, **writes, "force=true": 422}
        for method, path, body, headers, read in (
            ("GET", "configmaps/x", None, {}, {"resourceVersion=a": 400}),
            ("GET", "configmaps", None, {}, lists),
            ("POST", "configmaps", new, {}, writes),
            ("PUT", "configmaps/x", config_map(), {}, writes),
            ("PATCH", "configmaps/x", patch, MERGE, {**writes, "force=true": 422}),
            ("DELETE", "configmaps/x", None, {}, deletes),
            ("DELETE", "configmaps", None, {}, {**lists, **deletes}),
        ):
            for query, refusal in everything.items():
                answer = self.send(method, f"{path}?{query}", body, headers)
                expected = (refusal,) if query in read else (200, 201)
                self.assertIn(answer.code, expected, f"{method} {path}?{query}: {answer.body!r}")
                self.send("DELETE", "configmaps/new")
                self.send("POST", "configmaps", config_map())
            answer = self.send(method, f"{path}?pretty=true", body, headers)
            self.assertTrue(answer.body.startswith(b'{\n  "'), answer.body)
            self.send("POST", "configmaps", config_map())

    def test_take_effect(self) -> None:
        """Parameters of lists select what a deletion of a collection deletes; force is for an apply (REQ-17)."""
        for name in ("a", "b", "c"):
            self.done("POST", "configmaps", config_map(name, labels={"name": name}))
        expected = {"labelSelector=name=c&dryRun=All": ["c"], "limit=1": ["a"], "limit=9": ["b", "c"]}
        for query, deleted in expected.items():
            items = self.done("DELETE", f"configmaps?{query}")["items"]
            self.assertEqual([each["metadata"]["name"] for each in items], deleted)
        self.done("POST", "configmaps?fieldManager=other", config_map())
        applied = {**config_map(), "data": {"key": "new"}}
        self.refused(409, "PATCH", "configmaps/x?fieldManager=me", applied, APPLY)
        forced = self.done("PATCH", "configmaps/x?fieldManager=me&force=true", applied, APPLY)
        self.assertEqual(forced["data"], {"key": "new"})

    def test_of_tables(self) -> None:
        """includeObject is a parameter of Tables only (reference REQ-17, TABLE-4)."""
        self.done("POST", "configmaps", config_map())
        self.refused(400, "GET", "configmaps?includeObject=Foo", None, TABLE)
        self.assertEqual(self.code("GET", "configmaps?includeObject=Foo"), 200)
        (row,) = self.done("GET", "configmaps?includeObject=None", None, TABLE)["rows"]
        self.assertIsNone(row["object"])

    def test_unknown(self) -> None:
        """Parameters that the release does not know, or whose gate is off, are ignored (reference REQ-16, REQ-21)."""
        for query in ("shardSelector=x", "ignoreStoreReadErrorWithClusterBreakingPotential=true", "foo=bar", "%20"):
            self.assertEqual(self.code("GET", f"configmaps?{query}"), 200, query)
            self.assertEqual(self.code("DELETE", f"configmaps?{query}"), 200, query)


class EarlierReleaseTests(RequestCase):
    """A server that emulates a release before some parameters."""

    more = {"emulated_version": "1.24"}

    def test_unknown(self) -> None:
        """Parameters of later releases are ignored (reference REQ-21, WATCH-21)."""
        self.assertEqual(self.code("GET", "configmaps?sendInitialEvents=true"), 200)
        self.assertEqual(self.code("GET", "configmaps?shardSelector=x"), 200)


class HeaderTests(RequestCase):
    """Headers that go with refusals."""

    def test_retry_after(self) -> None:
        """A Status that says when to try again says so in a header too, whatever its code (reference REQ-23)."""
        for error, header in (
            (TooManyRequests("later", {"retryAfterSeconds": 7}), "7"),
            (InternalError("later", {"retryAfterSeconds": 3}), "3"),
            (Forbidden("later", {"retryAfterSeconds": 1}), "1"),
            (TooManyRequests("later", {"retryAfterSeconds": 0}), None),
            (TooManyRequests("later"), None),
        ):
            self.assertEqual(self.failing(error).headers.get("retry-after"), header, error.details)

    def test_nosniff(self) -> None:
        """Every 403 tells browsers not to guess, whichever part refuses (reference ERR-27)."""
        for method, path, headers in (
            ("GET", "configmaps", BOB),
            ("GET", "/metrics", BOB),
            ("GET", "configmaps", {"authorization": "", "impersonate-user": "bob"}),
            ("DELETE", f"{NAMESPACES}/default", {}),
            ("GET", "configmaps", {**BOB, "accept": "application/yaml"}),
        ):
            answer = self.send(method, path, None, headers)
            self.assertEqual((answer.code, answer.headers["x-content-type-options"]), (403, "nosniff"), path)
        self.assertEqual(self.failing(Forbidden("no")).headers["x-content-type-options"], "nosniff")

    def test_logs(self) -> None:
        """No token and no body is logged, whatever happens to the request (reference OPS-22)."""
        secret = {"metadata": {"name": "s"}, "stringData": {"key": "hidden"}}
        with capturedLogs() as events:
            self.done("POST", "secrets", secret)
            self.send("POST", "secrets", secret)
            self.send("POST", "secrets", b'{"hidden":')
            self.send("POST", "secrets", {**secret, "metadata": {"name": "A"}})
            self.send("GET", "secrets", None, {"authorization": "Bearer hidden"})

            def mutate(attributes: Attributes) -> None:
                raise ZeroDivisionError

            self.plugin.mutate = mutate
            answer = self.send("POST", "secrets", {**secret, "metadata": {"name": "t"}})
        self.assertEqual((answer.code, len(self.flushLoggedErrors(ZeroDivisionError))), (500, 1))
        encoded = base64.b64encode(b"hidden").decode()
        texts = [formatEvent(event) + str(event.get("log_failure", "")) for event in events]
        self.assertFalse([text for text in texts if "hidden" in text or encoded in text])

    def failing(self, error: StatusError) -> ClientAnswer:
        """The answer to a write that a plugin refuses."""

        def mutate(attributes: Attributes) -> None:
            raise error

        self.plugin.mutate = mutate
        return self.send("POST", "configmaps", config_map())
