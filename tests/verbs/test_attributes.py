"""Attributes that authorizers get, and requests while one of them is unreachable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.config.feature_gates import GATES
from orchtw.testing.in_process import ClientAnswer
from orchtw.testing.webhook import WebhookRequest, WebhookServer
from orchtw.wire.objects import Object
from tests.authz.answers import decided
from tests.emulated import RELEASE
from tests.in_process import InProcessServer

AUTHORIZATION = "/apis/authorization.orch.io/v1"
PODS = "/api/v1/namespaces/default/pods"
SCALE = "/apis/apps/v1/namespaces/default/deployments/x/scale"


def resource(verb: str, resource: str, **more: str) -> Object:
    """Attributes of a request for a core resource."""
    found = {"verb": verb, "version": "v1", "resource": resource, **more}
    return {"resourceAttributes": {name: value for name, value in found.items() if value}}


def pods(verb: str, **more: str) -> Object:
    """The same for pods in `default`."""
    return resource(verb, "pods", namespace="default", **more)


def pod_a(verb: str) -> Object:
    """Attributes of a request for the pods that are named `a`: its selector is among them since 1.31 (AUTHZ-42)."""
    found = pods(verb, name="a")
    if RELEASE < GATES["AuthorizeWithSelectors"].since:
        return found
    selector = {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    found["resourceAttributes"]["fieldSelector"] = selector
    return found


def path(verb: str, text: str) -> Object:
    """Attributes of any other request."""
    return {"nonResourceAttributes": {"verb": verb, "path": text}}


REQUESTS: tuple[tuple[str, str, Object], ...] = (
    ("GET", PODS, pods("list")),
    ("HEAD", PODS, pods("list")),
    ("GET", f"{PODS}?watch=1", pods("watch")),
    ("GET", f"{PODS}?watch=false", pods("list")),
    ("GET", "/api/v1/watch/namespaces/default/pods", pods("watch")),
    ("GET", f"{PODS}?fieldSelector=metadata.name%3Da", pod_a("list")),
    ("GET", f"{PODS}?watch=1&fieldSelector=metadata.name%3Da", pod_a("watch")),
    ("DELETE", f"{PODS}?fieldSelector=metadata.name%3Da", pod_a("deletecollection")),
    ("DELETE", PODS, pods("deletecollection")),
    ("POST", PODS, pods("create")),
    ("POST", f"{PODS}?dryRun=All", pods("create")),
    ("GET", f"{PODS}/a", pods("get", name="a")),
    ("HEAD", f"{PODS}/a", pods("get", name="a")),
    ("PUT", f"{PODS}/a", pods("update", name="a")),
    ("PATCH", f"{PODS}/a", pods("patch", name="a")),
    ("DELETE", f"{PODS}/a", pods("delete", name="a")),
    ("GET", f"{PODS}/a/log", pods("get", name="a", subresource="log")),
    ("POST", f"{PODS}/a/binding", pods("create", name="a", subresource="binding")),
    ("GET", f"{PODS}/a/exec", pods("get", name="a", subresource="exec")),
    ("POST", f"{PODS}/a/exec", pods("create", name="a", subresource="exec")),
    ("GET", "/api/v1/pods", resource("list", "pods")),
    ("GET", "/api/v1/nodes/n/status", resource("get", "nodes", name="n", subresource="status")),
    ("GET", "/api/v1/namespaces", resource("list", "namespaces")),
    ("GET", "/api/v1/namespaces/x", resource("get", "namespaces", namespace="x", name="x")),
    ("PUT", "/api/v1/namespaces/x/finalize",
     resource("update", "namespaces", namespace="x", name="x", subresource="finalize")),
    ("PUT", SCALE,
     resource("update", "deployments", namespace="default", group="apps", name="x", subresource="scale")),
    ("GET", "/apis/example.com/v2/things/a", {"resourceAttributes": {
        "verb": "get", "group": "example.com", "version": "v2", "resource": "things", "name": "a",
    }}),
    ("GET", "/api", path("get", "/api")),
    ("GET", "/apis/apps", path("get", "/apis/apps")),
    ("GET", "/apis/apps/v1", path("get", "/apis/apps/v1")),
    ("HEAD", "/healthz", path("head", "/healthz")),
    ("POST", "/nowhere/a", path("post", "/nowhere/a")),
    ("OPTIONS", "/nowhere/a", path("options", "/nowhere/a")),
)  # fmt: skip
"""Method, URL, and what a SubjectAccessReview has of it."""


class WebhookModeCase(TestCase):
    """A server whose only modes are those of `modes`, with a webhook that refuses."""

    modes: tuple[str, ...] = ("Webhook",)

    async def setUp(self) -> None:  # type: ignore[override]
        self.webhook = WebhookServer(reactor, self.answer)
        self.addCleanup(self.webhook.stop)
        folder = Path(self.mktemp())
        folder.mkdir(parents=True)
        config = folder / "webhook.yaml"
        cluster = {"server": self.webhook.url, "certificate-authority-data": self.webhook.ca_bundle}
        config.write_text(yaml.safe_dump({"clusters": [{"name": "c", "cluster": cluster}]}))
        self.server = InProcessServer(
            reactor,
            folder / "data",
            authorization_mode=self.modes,
            authorization_webhook_config_file=config,
            authorization_webhook_version="v1",
        )
        await self.server.start()
        self.addCleanup(self.server.stop)

    def answer(self, asked: WebhookRequest) -> Any:
        return decided(asked, allowed=False)

    async def as_bob(self, method: str, url: str, body: Any = None) -> ClientAnswer:
        """Return the response to bob, a member of dev."""
        headers = {"impersonate-user": "bob", "impersonate-group": "dev", "impersonate-extra-scope": "a"}
        return await self.server.request(method, url, body, headers)


class AttributesTests(WebhookModeCase):
    async def test_requests(self) -> None:
        """Verb, group, version, resource, sub-resource, namespace, name, or the path (AUTHZ-1, AUTHZ-2, AUTHZ-3)."""
        for method, url, attributes in REQUESTS:
            self.webhook.asked.clear()
            answer = await self.as_bob(method, url, {} if method in ("POST", "PUT", "PATCH") else None)
            self.assertEqual(answer.code, 403, url)
            found = [asked.json["spec"] for asked in self.webhook.asked]
            if not found:  # asked before, and remembered
                continue
            spec = dict(found[0])
            who = {name: spec.pop(name) for name in ("user", "groups", "extra")}
            self.assertEqual(spec, attributes, (method, url))
            expected = {"user": "bob", "groups": ["dev", "system:authenticated"], "extra": {"scope": ["a"]}}
            self.assertEqual(who, expected)

    async def test_impersonation(self) -> None:
        """Impersonation is authorized with verb impersonate, part by part (AUTHZ-4, AUTHN-41)."""
        headers = {
            "authorization": "", "impersonate-user": "system:serviceaccount:a:robot", "impersonate-group": "dev",
            "impersonate-uid": "7", "impersonate-extra-acme%2fscope": "x",
        }  # fmt: skip
        self.webhook.answer = lambda asked: decided(asked, allowed=True)
        self.assertEqual((await self.server.request("GET", PODS, None, headers)).code, 200)
        specs = [asked.json["spec"] for asked in self.webhook.asked]
        self.assertEqual({spec["user"] for spec in specs[:-1]}, {"system:anonymous"})
        group = {"group": "authentication.orch.io", "version": "v1"}
        self.assertEqual([spec["resourceAttributes"] for spec in specs], [
            {"verb": "impersonate", "resource": "serviceaccounts", "namespace": "a", "name": "robot"},
            {"verb": "impersonate", "resource": "groups", "name": "dev"},
            {"verb": "impersonate", **group, "resource": "userextras", "subresource": "acme/scope", "name": "x"},
            {"verb": "impersonate", **group, "resource": "uids", "name": "7"},
            {"verb": "list", "version": "v1", "resource": "pods", "namespace": "default"},
        ])  # fmt: skip
        self.assertEqual(
            {name: specs[-1][name] for name in ("user", "groups", "uid", "extra")},
            {
                "user": "system:serviceaccount:a:robot", "groups": ["dev", "system:authenticated"], "uid": "7",
                "extra": {"acme/scope": ["x"]},
            },
        )  # fmt: skip


class AwayTests(WebhookModeCase):
    """The webhook is away, and RBAC behind it is not."""

    modes = ("Webhook", "RBAC")

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        await self.webhook.stop()

    async def test_requests(self) -> None:
        """A right by a later mode suffices; other users are told the errors (reference AUTHZ-5)."""
        self.assertEqual((await self.as_bob("GET", "/api")).code, 200)
        answer = await self.as_bob("GET", PODS)
        self.assertEqual(answer.code, 403)
        told = 'User "bob" cannot list resource "pods" in API group "" in the namespace "default"'
        why = 'Post "https://.*": dial tcp .*: connect: connection refused'
        self.assertRegex(answer.json["message"], f"^pods is forbidden: {told}: {why}$")

    async def test_review(self) -> None:
        """A review tells it as its evaluationError, beside what a later mode says (reference AUTHZ-27)."""
        for attributes, allowed in (({"verb": "get", "path": "/api"}, True), ({"verb": "get", "path": "/x"}, False)):
            spec = {"groups": ["system:authenticated"], "nonResourceAttributes": attributes}
            url = f"{AUTHORIZATION}/subjectaccessreviews"
            status = (await self.server.request("POST", url, {"spec": spec})).json["status"]
            self.assertIs(status["allowed"], allowed)
            self.assertNotIn("denied", status)
            if not allowed:
                self.assertIn("connect: connection refused", status["evaluationError"])
