"""Custom resources against a real process: they come and go with their definitions."""

from __future__ import annotations

from twisted.internet.task import deferLater

from orchtw.objects import Object
from tests.end_to_end.case import ServerCase, reactor

DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"


def definition(group: str, plural: str = "foos", kind: str = "Foo", **names: object) -> Object:
    """A namespaced kind in one version with a size."""
    size = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
    schema = {"type": "object", "properties": {"spec": size}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.orch.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [version],
        },
    }


class DefinitionTests(ServerCase):
    """A definition from its creation to its end."""

    async def test_a_resource_comes_and_goes_with_its_definition(self) -> None:
        """Paths and discovery come with Established, and go with the definition (reference CRD-8, CRD-25)."""
        group = f"{self.unique('g')}.example.com"
        answer = await self.client.post(DEFINITIONS, definition(group))
        self.assertEqual(answer.code, 201, answer)
        path = f"/apis/{group}/v1/namespaces/{self.namespace}/foos"
        await self.until(f"/apis/{group}/v1", 200)
        foo = {"apiVersion": f"{group}/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {}}
        stored = await self.created(path, foo)
        self.assertEqual(stored["spec"], {"size": 3})
        self.assertEqual([each["metadata"]["name"] for each in (await self.client.get(path)).json["items"]], ["a"])
        answer = await self.client.delete(f"{DEFINITIONS}/foos.{group}")
        self.assertEqual(answer.json["metadata"]["finalizers"], ["customresourcecleanup.apiextensions.orch.io"])
        await self.until(f"{DEFINITIONS}/foos.{group}", 404)
        await self.until(path, 404)

    async def until(self, path: str, code: int) -> None:
        """Wait until a GET is answered so."""
        while (await self.client.get(path)).code != code:
            await deferLater(reactor, 0.02, lambda: None)
