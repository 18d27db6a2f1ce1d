"""Labels of request metrics (reference METRIC-6, METRIC-8)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.request_labels import NAMES, Labels, code_of, dry_run_of, path_of, scope_of, verb_of
from orchtw.metrics.series import OTHER
from orchtw.request import Peer, Request, RequestInfo


def request(method: str = "GET", query: str = "", **headers: str) -> Request:
    """Return a request; header names have underscores for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method=method, path="/", query=query, headers=named, peer=Peer(address="192.0.2.1", port=1))


def info(verb: str, **more: Any) -> RequestInfo:
    """Return the description of a request for pods."""
    return RequestInfo(**{"is_resource": True, "verb": verb, "path": "/", "resource": "pods", **more})


class VerbTests(SynchronousTestCase):
    """The label `verb` by request."""

    def test_resources(self) -> None:
        """Verbs of resources have the words of the release, which differ from HTTP's methods."""
        for verb, expected in (
            ("list", "LIST"),
            ("watch", "WATCH"),
            ("create", "POST"),
            ("update", "PUT"),
            ("deletecollection", "DELETECOLLECTION"),
            ("proxy", "CONNECT"),
            ("made-up", OTHER),
        ):
            self.assertEqual(verb_of(request(), info(verb)), expected)

    def test_apply(self) -> None:
        """A patch of the apply type is APPLY; any other patch, and another verb of that type, is not."""
        apply, other = "application/apply-patch+yaml", "application/json-patch+json"
        self.assertEqual(verb_of(request("PATCH", content_type=apply), info("patch")), "APPLY")
        self.assertEqual(verb_of(request("PATCH", content_type=other), info("patch")), "PATCH")
        self.assertEqual(verb_of(request("POST", content_type=apply), info("create")), "POST")

    def test_connections(self) -> None:
        """A connecting sub-resource is CONNECT by any method; a log is a GET."""
        for subresource in ("attach", "exec", "portforward", "proxy"):
            for verb in ("get", "create"):
                self.assertEqual(verb_of(request(), info(verb, subresource=subresource)), "CONNECT")
        self.assertEqual(verb_of(request(), info("get", subresource="log")), "GET")

    def test_other_paths(self) -> None:
        """A path without a resource is counted by its method: HEAD as GET, an unknown method as other."""
        for method, expected in (("GET", "GET"), ("HEAD", "GET"), ("DELETE", "DELETE"), ("BREW", OTHER)):
            self.assertEqual(verb_of(request(method), info("get", is_resource=False)), expected)


class LabelTests(SynchronousTestCase):
    """Labels of scope, dry run, path and code."""

    def test_scope(self) -> None:
        """A name, or a create, is of one resource; without it the namespace decides."""
        for known, expected in (
            ({"verb": "get", "namespace": "a", "name": "x"}, "resource"),
            ({"verb": "create", "namespace": "a"}, "resource"),
            ({"verb": "list", "namespace": "a"}, "namespace"),
            ({"verb": "list"}, "cluster"),
            ({"verb": "get", "is_resource": False, "name": "x"}, ""),
        ):
            self.assertEqual(scope_of(info(**known)), expected, known)

    def test_dry_run(self) -> None:
        """A dry run is All; one that the server refuses has no label."""
        for query, expected in (("dryRun=All", "All"), ("", ""), ("dryRun=x", ""), ("dryRun=All&dryRun=x", "")):
            self.assertEqual(dry_run_of(request("POST", query)), expected, query)

    def test_paths(self) -> None:
        """A path becomes itself or a folder that the server has, so that clients cannot make series."""
        for path, expected in (
            ("/version", "/version"),
            ("/apis", "/apis"),
            ("/apis/apps/v1", "/apis"),
            ("/readyz/ping", "/readyz"),
            ("/openapi/v3/apis/apps/v1", "/openapi/v3"),
            ("/healthzz", OTHER),
            ("/etc/passwd", OTHER),
        ):
            self.assertEqual(path_of(path), expected)

    def test_codes(self) -> None:
        """Only codes of three digits that HTTP knows are shown."""
        self.assertEqual([code_of(code) for code in (100, 422, 599, 99, 600, 0)], ["100", "422", "599"] + [OTHER] * 3)

    def test_order(self) -> None:
        """The values of labels stand in the order of their names."""
        labels = Labels("GET", "apps", "v1", "deployments", "status", "resource", "apiserver")
        self.assertEqual(NAMES[:4], ("verb", "group", "version", "resource"))
        self.assertEqual(dict(zip(NAMES, labels.values, strict=True))["subresource"], "status")
