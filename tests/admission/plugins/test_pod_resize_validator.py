"""Resizes of pods against the amounts of their nodes (reference PLUG-112)."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.admission.plugins.served import PluginCase, pod
from tests.emulated import since
from tests.verbs.served import MERGE


def resources(**requests: str) -> Object:
    return {"requests": requests, "limits": {"cpu": "64", "memory": "64Gi"}}


@since((1, 36))
class PodResizeValidatorTests(PluginCase):
    name = "PodResizeValidator"

    def setUp(self) -> None:
        super().setUp()
        self.node("n", "linux")

    def node(self, name: str, system: str) -> None:
        status = {"allocatable": {"cpu": "2", "memory": "1Gi"}}
        self.done("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"orch.io/os": system}}})
        self.done("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)

    def resize(self, name: str, **requests: str) -> Any:
        wanted = {"spec": {"containers": [{"name": "c", "image": "i", "resources": resources(**requests)}]}}
        return self.send("PATCH", f"pods/{name}/resize", wanted, MERGE)

    def made(self, name: str, **spec: Any) -> None:
        obj = pod(name, **spec)
        obj["spec"]["containers"][0]["resources"] = resources(cpu="1", memory="1Mi")
        self.done("POST", "pods", obj)

    def test_allocatable(self) -> None:
        """A pod may ask for what its node can give, and for no more (reference PLUG-112)."""
        self.made("p", nodeName="n")
        self.assertEqual(self.resize("p", cpu="2", memory="1Gi").code, 200)
        refused = self.resize("p", cpu="2001m", memory="1025Mi")
        self.assertEqual((refused.code, refused.json["reason"]), (403, "Forbidden"))
        self.assertEqual(
            refused.json["message"],
            'pods "p" is forbidden: Node didn\'t have enough allocatable resources: cpu, requested: 2001, '
            "allocatable: 2000; memory, requested: 1074790400, allocatable: 1073741824",
        )
        self.assertEqual(refused.json["details"]["causes"], [{"reason": "NodeCapacity"}])

    def test_systems(self) -> None:
        """Only nodes with Linux can resize (reference PLUG-112)."""
        self.node("w", "windows")
        self.made("p", nodeName="w")
        refused = self.resize("p", cpu="2", memory="1Mi")
        self.assertEqual(refused.code, 403)
        self.assertIn('pod resize is only supported on linux nodes, node "w" is "windows"', refused.json["message"])
        self.assertEqual(refused.json["details"]["causes"], [{"reason": "UnsupportedPlatform"}])

    def test_nodes(self) -> None:
        """The node must be there; a pod without one, and an unchanged one, may be resized (reference PLUG-112)."""
        self.made("a")
        self.assertEqual(self.resize("a", cpu="9", memory="1Mi").code, 200)
        self.made("b", nodeName="gone")
        self.assertEqual(self.resize("b", cpu="1", memory="1Mi").code, 200)
        self.assertIn('node "gone" not found', self.resize("b", cpu="2", memory="1Mi").json["message"])
