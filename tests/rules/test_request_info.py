"""Request information: the table of paths and verbs (reference REQ-4, REQ-11)."""

from __future__ import annotations

from urllib.parse import parse_qs

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.request import RequestInfo
from orchtw.rules.request_info import check_segments, parse

# method, target -> verb, prefix, group, version, namespace, resource, subresource, name, parts
RESOURCES: list[tuple[str, str, str, str, str, str, str, str, str, str, tuple[str, ...]]] = [
    ("GET", "/api/v1/namespaces", "list", "api", "", "v1", "", "namespaces", "", "", ("namespaces",)),
    ("GET", "/api/v1/namespaces/x", "get", "api", "", "v1", "x", "namespaces", "", "x", ("namespaces", "x")),
    ("GET", "/api/v1/namespaces/x/pods", "list", "api", "", "v1", "x", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/namespaces/x/pods/", "list", "api", "", "v1", "x", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/namespaces/x/pods/p", "get", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    ("HEAD", "/api/v1/namespaces/x/pods/p", "get", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    ("GET", "/api/v1/pods", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("POST", "/api/v1/pods", "create", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("PUT", "/api/v1/namespaces/x/pods/p", "update", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    ("PATCH", "/api/v1/namespaces/x/pods/p", "patch", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    ("DELETE", "/api/v1/namespaces/x/pods/p", "delete", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    ("DELETE", "/api/v1/namespaces/x/pods", "deletecollection", "api", "", "v1", "x", "pods", "", "", ("pods",)),
    ("OPTIONS", "/api/v1/pods", "", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/apis/apps/v1/deployments", "list", "apis", "apps", "v1", "", "deployments", "", "", ("deployments",)),
    (
        "GET",
        "/apis/apps/v1/namespaces/x/deployments/d/scale",
        *("get", "apis", "apps", "v1", "x", "deployments", "scale", "d"),
        ("deployments", "d", "scale"),
    ),
    (
        "GET",
        "/apis/rbac.authorization.orch.io/v1/clusterroles/system:a",
        *("get", "apis", "rbac.authorization.orch.io", "v1", "", "clusterroles", "", "system:a"),
        ("clusterroles", "system:a"),
    ),
    (
        "PUT",
        "/api/v1/namespaces/x/status",
        *("update", "api", "", "v1", "x", "namespaces", "status", "x"),
        ("namespaces", "x", "status"),
    ),
    (
        "PUT",
        "/api/v1/namespaces/x/finalize",
        *("update", "api", "", "v1", "x", "namespaces", "finalize", "x"),
        ("namespaces", "x", "finalize"),
    ),
    (
        "GET",
        "/api/v1/namespaces/x/services/s/proxy/a/b",
        *("get", "api", "", "v1", "x", "services", "proxy", "s"),
        ("services", "s", "proxy", "a", "b"),
    ),
    ("GET", "/api/v1/pods?watch=1", "watch", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?watch", "watch", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?watch=x", "watch", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?watch=False", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?watch=0", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/namespaces/x/pods/p?watch=1", "get", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    ("GET", "/api/v1/watch/pods", "watch", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/watch/namespaces/x/pods/p", "watch", "api", "", "v1", "x", "pods", "", "p", ("pods", "p")),
    (
        "GET",
        "/apis/apps/v1/watch/deployments",
        "watch",
        "apis",
        "apps",
        "v1",
        "",
        "deployments",
        "",
        "",
        ("deployments",),
    ),
    (
        "POST",
        "/api/v1/proxy/namespaces/x/pods/p/tail",
        *("proxy", "api", "", "v1", "x", "pods", "", "p"),
        ("pods", "p", "tail"),
    ),
    (
        "GET",
        "/api/v1/namespaces/x/services/s:80/proxy//a//b/",
        *("get", "api", "", "v1", "x", "services", "proxy", "s:80"),
        ("services", "s:80", "proxy", "", "a", "", "b"),
    ),
    (
        "OPTIONS",
        "/api/v1/nodes/n/proxy//",
        *("", "api", "", "v1", "", "nodes", "proxy", "n"),
        ("nodes", "n", "proxy", ""),
    ),
    ("GET", "/api/v1/namespaces//pods", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("DELETE", "/api/v1/namespaces//pods/", "deletecollection", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/watch/namespaces//pods", "watch", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Da", "list", "api", "", "v1", "", "pods", "", "a", ("pods",)),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name!%3Da", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Da/b", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    ("GET", "/api/v1/pods?fieldSelector=broken", "list", "api", "", "v1", "", "pods", "", "", ("pods",)),
    (
        "GET",
        "/api/v1/watch/pods?fieldSelector=metadata.name%3Da",
        *("watch", "api", "", "v1", "", "pods", "", "a"),
        ("pods",),
    ),
    (
        "DELETE",
        "/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Da,spec.nodeName%3Dn",
        *("deletecollection", "api", "", "v1", "x", "pods", "", "a"),
        ("pods",),
    ),
    ("GET", "/api/v1/nodes/a%3Ab", "get", "api", "", "v1", "", "nodes", "", "a:b", ("nodes", "a:b")),
    ("GET", "/api/v1/nodes/a%252Fb", "get", "api", "", "v1", "", "nodes", "", "a%2Fb", ("nodes", "a%2Fb")),
    ("GET", "/api/v1/nodes/a%2Fb", "get", "api", "", "v1", "", "nodes", "", "a/b", ("nodes", "a/b")),
    ("GET", "/api/v1/nodes/..", "get", "api", "", "v1", "", "nodes", "", "..", ("nodes", "..")),
]

# target -> the same without segments that mean nothing
EMPTY_SEGMENTS = [
    ("/api/v1/namespaces//pods/p", ("", "pods", "", "p", ("pods", "p"))),
    ("/api/v1/namespaces//pods/p/proxy//a", ("", "pods", "proxy", "p", ("pods", "p", "proxy", "", "a"))),
    ("/api//namespaces//pods", ("", "pods", "", "", ("pods",))),
    ("/api/v1/namespaces///", ("", "namespaces", "", "", ("namespaces",))),
    ("/api/v1/namespaces///pods", ("", "pods", "", "", ("pods",))),
    ("/api/v1/namespaces/x/pods//proxy/a", ("x", "pods", "a", "proxy", ("pods", "proxy", "a"))),
    ("/api/v1/namespaces/x/pods/p/log//a", ("x", "pods", "log", "p", ("pods", "p", "log", "a"))),
    ("/api//v1/pods", ("", "pods", "", "", ("pods",))),
    ("//api/v1/pods", ("", "pods", "", "", ("pods",))),
    ("/api/v1//pods", ("", "pods", "", "", ("pods",))),
    ("/api/v1/pods//", ("", "pods", "", "", ("pods",))),
    ("/api/v1//namespaces/x//pods//p//", ("x", "pods", "", "p", ("pods", "p"))),
    ("/apis/apps//v1///deployments", ("", "deployments", "", "", ("deployments",))),
]

NON_RESOURCES = [
    "/",
    "",
    "/api",
    "/api/",
    "/api/v1",
    "/api/v1/",
    "/apis",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/apps/v1/",
    "/healthz",
    "/healthz/etcd/x/y",
    "/version",
    "/openapi/v3/apis/apps/v1",
    "/api/v1/watch",
    "xapi/v1/pods",
    "api/v1/pods",
    "/api//v1//",
    "//apis//apps/v1",
    "/apis/apps/v1/proxy/",
]


def ask(method: str, target: str) -> RequestInfo:
    path, _, query = target.partition("?")
    return parse(method, path, parse_qs(query, keep_blank_values=True))


class ParseTests(SynchronousTestCase):
    """Parsing of request paths (`parse`)."""

    def test_resources(self) -> None:
        """Every row of the table gets the verb and target that the API gives it (reference REQ-4, REQ-6, REQ-11)."""
        for method, target, verb, prefix, group, version, namespace, resource, subresource, name, parts in RESOURCES:
            expected = RequestInfo(
                is_resource=True,
                verb=verb,
                path=ask(method, target).path,
                prefix=prefix,
                group=group,
                version=version,
                namespace=namespace,
                resource=resource,
                subresource=subresource,
                name=name,
                parts=parts,
                field_selector=ask(method, target).field_selector,
                label_selector=ask(method, target).label_selector,
            )
            self.assertEqual(ask(method, target), expected, f"{method} {target}")

    def test_empty_segments(self) -> None:
        """A path with segments that mean nothing is described without them, and known as such (reference REQ-10)."""
        for path, (namespace, resource, subresource, name, parts) in EMPTY_SEGMENTS:
            info = ask("GET", path)
            found = info.namespace, info.resource, info.subresource, info.name, info.parts
            self.assertEqual(found, (namespace, resource, subresource, name, parts), path)
            self.assertEqual((info.is_resource, info.exact), (True, False), path)

    def test_namespaces_in_namespaces(self) -> None:
        """No namespace is in another one; a custom type of that name may be (reference REQ-5, REQ-7)."""
        for path, exact in (
            ("/api/v1/namespaces/x/namespaces", False),
            ("/api/v1/namespaces/x/namespaces/x", False),
            ("/api/v1/watch/namespaces/x/namespaces/x/status", False),
            ("/api/v1/namespaces/namespaces", True),
            ("/api/v1/namespaces/namespaces/pods", True),
            ("/apis/example.com/v1/namespaces/x/namespaces/x", True),
        ):
            self.assertEqual(ask("GET", path).exact, exact, path)

    def test_other_paths(self) -> None:
        """A path that is not a complete resource path has its lower-case method as the verb."""
        for path in NON_RESOURCES:
            expected = RequestInfo(is_resource=False, verb="post", path=path)
            self.assertEqual(ask("POST", path), expected, path)

    def test_path_is_decoded_once(self) -> None:
        """The path that rules for non-resource requests see is decoded, and only once (reference REQ-15)."""
        self.assertEqual(ask("GET", "/%68ealthz/%2525").path, "/healthz/%25")


class CheckSegmentsTests(SynchronousTestCase):
    """Checks of path segments (`check_segments`)."""

    def test_refuses_names_no_object_can_have(self) -> None:
        """A name or namespace with `/` or `%`, or that is `.` or `..`, is a 400 that says so (reference REQ-9)."""
        for path, text in [
            ("/api/v1/nodes/a%2Fb", "Name parameter invalid: \"a/b\": may not contain '/'"),
            ("/api/v1/nodes/a%25b", "Name parameter invalid: \"a%b\": may not contain '%'"),
            ("/api/v1/nodes/..", "Name parameter invalid: \"..\": may not be '..'"),
            ("/api/v1/namespaces/%2E/pods/p", "Namespace parameter invalid: \".\": may not be '.'"),
        ]:
            error = self.assertRaises(BadRequest, check_segments, ask("GET", path))
            self.assertEqual(error.message, text)

    def test_accepts_names(self) -> None:
        """Colons and dots are fine in a name: RBAC kinds use them (reference OBJ-23)."""
        check_segments(ask("GET", "/apis/rbac.authorization.orch.io/v1/clusterroles/system:node.x"))
