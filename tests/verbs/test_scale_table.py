"""A Scale as a Table, and what sub-resources that are not served answer."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from tests.in_process import InProcessServer

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
META = "v=v1;g=meta.orch.io"


class ScaleTableTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        answer = await self.server.request("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        self.assertEqual(answer.code, 201, answer)

    async def test_columns(self) -> None:
        """`get --subresource=scale` shows Desired and Available (reference TABLE-8)."""
        accept = {"accept": f"application/json;as=Table;{META}"}
        table = (await self.server.request("GET", f"{DEPLOYMENTS}/d/scale", headers=accept)).json
        names = [column["name"] for column in table["columnDefinitions"]]
        self.assertEqual((table["kind"], names), ("Table", ["Name", "Desired", "Available", "Age"]))
        self.assertEqual(table["rows"][0]["cells"][:3], ["d", 3, 0])
        self.assertEqual(table["rows"][0]["object"]["kind"], "PartialObjectMetadata")

    async def test_metadata(self) -> None:
        """Its metadata alone can be asked for, that of a list cannot."""
        for kind, code in (("PartialObjectMetadata", 200), ("PartialObjectMetadataList", 406)):
            accept = {"accept": f"application/json;as={kind};{META}"}
            answer = await self.server.request("GET", f"{DEPLOYMENTS}/d/scale", headers=accept)
            self.assertEqual(answer.code, code, answer)

    async def test_the_other_vocabulary(self) -> None:
        """A group's other name is a 404 that says which vocabulary the server speaks, as does a body's apiVersion."""
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = await self.server.request("POST", path, {})
        self.assertEqual((answer.code, answer.json["reason"]), (404, "NotFound"))
        self.assertIn("this server speaks the orch vocabulary", answer.json["message"])
        body = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}}
        path = "/apis/networking.orch.io/v1/namespaces/default/ingresses"
        answer = await self.server.request("POST", path, body)
        self.assertEqual(answer.code, 400)
        self.assertIn("start it with --vocabulary kubernetes", answer.json["message"])

    async def test_names_in_admission_refusals(self) -> None:
        """A refused create names its object, by generateName where it has no name yet."""
        namespace = {"metadata": {"name": "ending"}, "spec": {"finalizers": ["example.com/keep"]}}
        await self.server.request("POST", "/api/v1/namespaces", namespace)
        await self.server.request("DELETE", "/api/v1/namespaces/ending")
        for meta, name in (({"name": "a"}, "a"), ({"generateName": "b-"}, "b-"), ({}, "Unknown")):
            answer = await self.server.request("POST", "/api/v1/namespaces/ending/configmaps", {"metadata": meta})
            self.assertEqual(answer.code, 403, answer)
            self.assertTrue(answer.json["message"].startswith(f'configmaps "{name}" is forbidden: '), answer)
