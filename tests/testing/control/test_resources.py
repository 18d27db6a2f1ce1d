"""Resources by the names that people use."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.control.blocking import finish
from orchtw.testing.control.resources import ResourceNames, ServedResource, UnknownResource

PODS = {"name": "pods", "kind": "Pod", "namespaced": True, "singularName": "pod", "shortNames": ["po"]}
NODES = {"name": "nodes", "kind": "Node", "namespaced": False}
DEPLOYMENTS = {"name": "deployments", "kind": "Deployment", "namespaced": True, "shortNames": ["deploy"]}
THINGS = {"name": "things", "kind": "Thing", "namespaced": True}
DOCUMENTS: dict[str, Any] = {
    "/api/v1": {"resources": [PODS, {**PODS, "name": "pods/log"}, NODES]},
    "/apis": {
        "groups": [
            {"name": "apps", "preferredVersion": {"groupVersion": "apps/v1"}},
            {"name": "example.com", "preferredVersion": {"groupVersion": "example.com/v2"}},
        ]
    },
    "/apis/apps": {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    "/apis/apps/v1": {"resources": [DEPLOYMENTS]},
    "/apis/example.com": {
        "versions": [{"version": "v1"}, {"version": "v2"}],
        "preferredVersion": {"version": "v2"},
    },
    "/apis/example.com/v1": {"resources": [THINGS, {**THINGS, "name": "olds", "kind": "Old"}]},
    "/apis/example.com/v2": {"resources": [THINGS]},
}


class ResourceNamesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.asked: list[str] = []
        self.names = ResourceNames(self.get)

    async def get(self, path: str) -> Any:
        """Return a discovery document."""
        self.asked.append(path)
        return DOCUMENTS.get(path)

    def root(self, text: str) -> str:
        """Return where the resource of a text is served."""
        return finish(self.names.find(text)).root

    def test_names(self) -> None:
        """Plural, kind, singular and short names lead to a resource, in capitals or not."""
        for text in ("pods", "pod", "po", "Pod", "pods.v1"):
            self.assertEqual(finish(self.names.find(text)), ServedResource("/api/v1", "pods", True), text)
        self.assertEqual(self.root("deploy"), "/apis/apps/v1")

    def test_groups(self) -> None:
        """A group, or a version and a group, say which is meant; else the preferred version is."""
        self.assertEqual(self.root("things"), "/apis/example.com/v2")
        self.assertEqual(self.root("things.example.com"), "/apis/example.com/v2")
        self.assertEqual(self.root("things.v1.example.com"), "/apis/example.com/v1")
        self.assertEqual(self.root("olds.example.com"), "/apis/example.com/v1")
        self.assertEqual(self.root("deployments.apps"), "/apis/apps/v1")

    def test_unknown(self) -> None:
        """A resource that is not served is an error, and so is a sub-resource."""
        for text in ("none", "none.apps", "pods.apps", "pods/log", "things.v3.example.com"):
            self.assertRaises(UnknownResource, finish, self.names.find(text))

    def test_remembered(self) -> None:
        """A resource that was found is not asked for again, until it is forgotten."""
        self.root("pods")
        self.root("pods")
        self.assertEqual(self.asked, ["/api/v1"])
        self.names.forget()
        self.root("pods")
        self.assertEqual(self.asked, ["/api/v1"] * 2)

    def test_paths(self) -> None:
        """Paths have the namespace if the resource has one; objects are in `default` by default."""
        pods, nodes = finish(self.names.find("pods")), finish(self.names.find("nodes"))
        self.assertEqual(pods.collection(""), "/api/v1/pods")
        self.assertEqual(pods.collection("a"), "/api/v1/namespaces/a/pods")
        self.assertEqual(pods.object("", "x"), "/api/v1/namespaces/default/pods/x")
        self.assertEqual(nodes.object("", "system:x"), "/api/v1/nodes/system%3Ax")
