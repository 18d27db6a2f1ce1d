"""Refusals of a user without rights, in every form (reference ERR-26, AUTHN-41)."""

from __future__ import annotations

from typing import Any

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from tests.verbs.answered import Case

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BOB = 'User "bob" cannot'
HERE = 'in the namespace "default"'

RESOURCES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("GET", PODS, f'pods is forbidden: {BOB} list resource "pods" in API group "" {HERE}', {"kind": "pods"}),
    ("GET", f"{PODS}?watch=true", f'pods is forbidden: {BOB} watch resource "pods" in API group "" {HERE}',
     {"kind": "pods"}),
    ("DELETE", PODS, f'pods is forbidden: {BOB} deletecollection resource "pods" in API group "" {HERE}',
     {"kind": "pods"}),
    ("POST", PODS, f'pods is forbidden: {BOB} create resource "pods" in API group "" {HERE}', {"kind": "pods"}),
    ("GET", f"{PODS}/x", f'pods "x" is forbidden: {BOB} get resource "pods" in API group "" {HERE}',
     {"name": "x", "kind": "pods"}),
    ("HEAD", f"{PODS}/x", "", {}),
    ("DELETE", f"{PODS}/x", f'pods "x" is forbidden: {BOB} delete resource "pods" in API group "" {HERE}',
     {"name": "x", "kind": "pods"}),
    ("GET", f"{PODS}?fieldSelector=metadata.name%3Dx",
     f'pods "x" is forbidden: {BOB} list resource "pods" in API group "" {HERE}', {"name": "x", "kind": "pods"}),
    ("GET", f"{PODS}/x/log", f'pods "x" is forbidden: {BOB} get resource "pods/log" in API group "" {HERE}',
     {"name": "x", "kind": "pods"}),
    ("POST", f"{PODS}/x/eviction",
     f'pods "x" is forbidden: {BOB} create resource "pods/eviction" in API group "" {HERE}',
     {"name": "x", "kind": "pods"}),
    ("PUT", f"{DEPLOYMENTS}/x/scale",
     f'deployments.apps "x" is forbidden: {BOB} update resource "deployments/scale" in API group "apps" {HERE}',
     {"name": "x", "group": "apps", "kind": "deployments"}),
    ("PATCH", f"{DEPLOYMENTS}/x",
     f'deployments.apps "x" is forbidden: {BOB} patch resource "deployments" in API group "apps" {HERE}',
     {"name": "x", "group": "apps", "kind": "deployments"}),
    ("GET", "/api/v1/pods", f'pods is forbidden: {BOB} list resource "pods" in API group "" at the cluster scope',
     {"kind": "pods"}),
    ("GET", "/api/v1/nodes", f'nodes is forbidden: {BOB} list resource "nodes" in API group "" at the cluster scope',
     {"kind": "nodes"}),
    ("GET", "/api/v1/nodes/n/status",
     f'nodes "n" is forbidden: {BOB} get resource "nodes/status" in API group "" at the cluster scope',
     {"name": "n", "kind": "nodes"}),
    ("GET", "/api/v1/namespaces/x",
     f'namespaces "x" is forbidden: {BOB} get resource "namespaces" in API group "" in the namespace "x"',
     {"name": "x", "kind": "namespaces"}),
    ("GET", "/apis/example.com/v1/things",
     f'things.example.com is forbidden: {BOB} list resource "things" in API group "example.com" at the cluster scope',
     {"group": "example.com", "kind": "things"}),
    ("GET", "/metrics", f'forbidden: {BOB} get path "/metrics"', {}),
    ("POST", "/nowhere/a", f'forbidden: {BOB} post path "/nowhere/a"', {}),
    ("GET", "/a%3Cb%3E%26c", f'forbidden: {BOB} get path "/a&lt;b&gt;&amp;c"', {}),
)  # fmt: skip
"""Method, URL, the message and the details."""


class RefusalTests(Case):
    """Requests of bob, who has no rights."""

    async def refused(self, method: str, url: str, accept: str = "", **headers: str) -> Any:
        """The Status of a refusal, from whatever form it has."""
        sent = {"accept": accept} if accept else {}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        answer = await self.send(method, url, 403, None, sent)
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        if method == "HEAD":
            return None
        if "protobuf" not in accept:
            self.assertEqual(answer.headers["content-type"], "application/json")
            return answer.json
        naming = Naming.orch()
        self.assertEqual(answer.headers["content-type"], naming.protobuf_media_type)
        api_version, kind, raw = unwrap(answer.body)
        status = Codecs(Catalogue.load(naming)).kind("v1", "Status").decode_protobuf(raw)
        return {"kind": kind, "apiVersion": api_version, **status}

    async def test_forms(self) -> None:
        """Resource, object, sub-resource, cluster scope and path have their texts, in JSON and Protobuf (ERR-26)."""
        for method, url, message, details in RESOURCES:
            for accept in ("", "application/json", Naming.orch().protobuf_media_type):
                status = await self.refused(method, url, accept, impersonate_user="bob")
                if status is None:
                    continue
                self.assertEqual(status["message"], message)
                self.assertEqual(status.get("details") or {}, details, url)
                told = {name: status[name] for name in ("kind", "apiVersion", "status", "reason", "code")}
                expected = {
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403
                }  # fmt: skip
                self.assertEqual(told, expected)

    async def test_impersonation(self) -> None:
        """A refused impersonation names its part (reference AUTHN-41)."""
        nobody = 'User "system:anonymous" cannot impersonate resource'
        core = 'in API group "" at the cluster scope'
        for user, message, details in (
            ("ann", f'users "ann" is forbidden: {nobody} "users" {core}', {"name": "ann", "kind": "users"}),
            (
                "system:serviceaccount:default:robot",
                f'serviceaccounts "robot" is forbidden: {nobody} "serviceaccounts" in API group "" {HERE}',
                {"name": "robot", "kind": "serviceaccounts"},
            ),
        ):
            for accept in ("application/json", Naming.orch().protobuf_media_type):
                status = await self.refused("GET", "/api", accept, authorization="", impersonate_user=user)
                self.assertEqual((status["message"], status["details"]), (message, details))

    async def test_names_of_users(self) -> None:
        """A name that looks like markup is told as text is in markup, the object's name as it is."""
        status = await self.refused("GET", f"{PODS}/a&b", impersonate_user="<i>bob</i>")
        told = 'pods "a&b" is forbidden: User "&lt;i&gt;bob&lt;/i&gt;" cannot get resource "pods"'
        self.assertTrue(status["message"].startswith(told), status)
