"""Keys and forms of objects in the store, and names that are there from the start (reference STORE-2, CTRL-8)."""

from __future__ import annotations

from typing import Any

from orchtw.storage.store import Op
from orchtw.wire.objects import Object
from tests.verbs.served import DEFAULT, ServedCase

APPS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
EVENT = {
    "metadata": {"name": "e"}, "eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
    "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal",
    "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
}  # fmt: skip


def deployment() -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}


class KeyTests(ServedCase):
    """A server whose store is looked into."""

    def setUp(self) -> None:
        super().setUp()
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        names = {"plural": "ws", "kind": "W"}
        spec = {"group": "ex.io", "names": names, "scope": "Namespaced", "versions": [version]}
        self.done("POST", DEFINITIONS, {"metadata": {"name": "ws.ex.io"}, "spec": spec})
        self.clock.advance(10)
        self.done("POST", "configmaps", {"metadata": {"name": "x"}})
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        self.done("POST", APPS, deployment())
        self.done("POST", "/apis/events.orch.io/v1/namespaces/default/events", EVENT)
        custom = {"apiVersion": "ex.io/v1", "kind": "W", "metadata": {"name": "w"}}
        self.done("POST", f"/apis/ex.io/v1/{DEFAULT.removeprefix('/api/v1/')}/ws", custom)

    def test_keys(self) -> None:
        """A key has group, resource, namespace and name; a value is Protobuf, or JSON of custom kinds (STORE-2)."""
        for key, start in (
            ("configmaps/default/x", b"k8s\0\n\x0f\n\x02v1\x12\x09ConfigMap"),
            ("namespaces/n", b"k8s\0\n\x0f\n\x02v1\x12\x09Namespace"),
            ("apps/deployments/default/d", b"k8s\0\n\x15\n\x07apps/v1\x12\nDeployment"),
            ("events/default/e", b"k8s\0\n\x0b\n\x02v1\x12\x05Event"),
            ("ex.io/ws/default/w", b'{"kind":"W","apiVersion":"ex.io/v1","metadata":{"name":"w"'),
        ):
            value = self.store.items[f"/registry/{key}"].value
            self.assertTrue(value.startswith(start), value[:80])
        self.assertFalse([key for key in self.store.items if not key.startswith("/registry/")])

    def test_lifetimes(self) -> None:
        """Events, of either group, end an hour after they are written, other objects do not (reference LIMIT-6)."""
        ends: dict[str, float | None] = {}
        commit = self.store.commit

        def noted(op: Op) -> Any:
            ends[op.key.removeprefix("/registry/")] = op.ttl_s
            return commit(op)

        self.patch(self.store, "commit", noted)
        about = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}
        self.done("POST", "events", {"metadata": {"name": "core"}, **about})
        self.done("PUT", "events/e", {**self.done("GET", "events/e"), "reason": "other"})
        self.done("POST", "configmaps", {"metadata": {"name": "y"}})
        hour = 3600.0
        expected = {"events/default/core": hour, "events/default/e": hour, "configmaps/default/y": None}
        self.assertEqual({key: end or None for key, end in ends.items()}, expected)

    def test_priority_classes(self) -> None:
        """The two classes of the system are there once their hook has run (reference CTRL-8)."""
        items = self.done("GET", "/apis/scheduling.orch.io/v1/priorityclasses")["items"]
        values = {each["metadata"]["name"]: each["value"] for each in items}
        self.assertEqual(values, {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000})
        checks = self.send("GET", "/readyz?verbose").body.decode()
        self.assertIn("[+]poststarthook/scheduling/bootstrap-system-priority-classes ok", checks)
