"""`kubectl`, unmodified, on a custom resource with columns, status and scale (reference CRD-18 to CRD-23)."""

from __future__ import annotations

import json

from orchtw.objects import Object
from orchtw.testing.kubectl import Kubectl
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.end_to_end.test_definitions import definition


class CustomKubectlTests(ServerCase):
    """What people do with custom resources."""

    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.kubectl = Kubectl(reactor, self.server.kubeconfig, self.mktemp())
        self.group = f"{self.unique('g')}.example.com"
        made = definition(self.group, "lamps", "Lamp", shortNames=["lp"])
        await self.run_ok("apply", "-f", "-", stdin=json.dumps(self.lit(made)))
        await self.run_ok("wait", "--for=condition=Established", f"crd/lamps.{self.group}", "--timeout=30s")

    @staticmethod
    def lit(made: Object) -> Object:
        """The definition with columns and both sub-resources."""
        version = made["spec"]["versions"][0]
        number, text = {"type": "integer"}, {"type": "string"}
        condition = {"type": "object", "properties": {"type": text, "status": text}}
        status = {"replicas": number, "phase": text, "conditions": {"type": "array", "items": condition}}
        version["schema"]["openAPIV3Schema"]["properties"] |= {
            "spec": {"type": "object", "properties": {"replicas": number, "colour": text}},
            "status": {"type": "object", "properties": status},
        }
        paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        version["subresources"] = {"status": {}, "scale": paths}
        version["additionalPrinterColumns"] = [
            {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
            {"name": "Wanted", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ]
        return made

    async def run_ok(self, *arguments: str, stdin: str = "") -> str:
        """Standard output of a command that succeeds, in the test's namespace."""
        result = await self.kubectl.run(f"--namespace={self.namespace}", *arguments, stdin=stdin)
        self.assertEqual(result.status, 0, result)
        return result.output

    async def test_life(self) -> None:
        """Applied, shown in columns, scaled, patched, waited for, changed and deleted."""
        lamp = {"apiVersion": f"{self.group}/v1", "kind": "Lamp", "metadata": {"name": "desk"},
                "spec": {"replicas": 1, "colour": "red"}}  # fmt: skip
        await self.run_ok("apply", "-f", "-", stdin=json.dumps(lamp))
        table = (await self.run_ok("get", "lp")).splitlines()
        self.assertEqual(table[0].split(), ["NAME", "COLOUR", "READY", "AGE"])
        self.assertEqual(table[1].split()[:2], ["desk", "red"])
        self.assertEqual((await self.run_ok("get", "lamps", "-o", "wide")).splitlines()[0].split()[2], "WANTED")
        await self.run_ok("scale", "lamp/desk", "--replicas=3", "--current-replicas=1")
        self.assertEqual(await self.run_ok("get", "lamp/desk", "-o", "jsonpath={.spec.replicas}"), "3")
        status = {"status": {"replicas": 3, "conditions": [{"type": "Ready", "status": "True"}]}}
        await self.run_ok("patch", "lamp/desk", "--subresource=status", "--type=merge", "-p", json.dumps(status))
        await self.run_ok("wait", "--for=condition=Ready", "lamp/desk", "--timeout=10s")
        self.assertIn("True", await self.run_ok("get", "lamp/desk"))
        lamp["spec"] = {"colour": "blue"}
        self.assertIn("configured", await self.run_ok("apply", "-f", "-", stdin=json.dumps(lamp)))
        self.assertEqual(await self.run_ok("get", "lp/desk", "-o", "jsonpath={.metadata.generation}"), "3")
        lamp["spec"] = {"colour": "green"}
        conflict = await self.kubectl.run(
            f"--namespace={self.namespace}", "apply", "--server-side", "-f", "-", stdin=json.dumps(lamp),
        )  # fmt: skip
        self.assertEqual(conflict.status, 0, conflict)
        strategic = await self.kubectl.run(
            f"--namespace={self.namespace}", "patch", "lamp/desk", "--type=strategic", "-p", "{}"
        )
        self.assertEqual(strategic.status, 1, strategic)
        await self.run_ok("delete", "lamp/desk")
        self.assertEqual(await self.run_ok("get", "lamps", "-o", "name"), "")
