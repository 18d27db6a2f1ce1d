"""Bindings: a scheduler puts a pod on a node (reference KIND-24)."""

from __future__ import annotations

from typing import Any

from tests.verbs.answered import Case

PODS = "/api/v1/namespaces/default/pods"
BINDINGS = "/api/v1/namespaces/default/bindings"


def binding(node: str = "n1", name: str = "p", **meta: Any) -> dict[str, Any]:
    """A Binding of a pod to a node."""
    target = {"kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **meta}, "target": target}


class BindingTests(Case):
    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await self.send("POST", PODS, 201, {"metadata": {"name": "p", "annotations": {"b": "old"}}, "spec": spec})

    async def pod(self) -> Any:
        """The pod as it is."""
        return (await self.send("GET", f"{PODS}/p", 200)).json

    async def test_both_paths(self) -> None:
        """The sub-resource of the pod and the collection of bindings do the same."""
        for path, name in ((f"{PODS}/p/binding", "p"), (BINDINGS, "p")):
            status = (await self.send("POST", f"{path}?dryRun=All", 201, binding(name=name))).json
            self.assertEqual((status["kind"], status["status"], status["code"]), ("Status", "Success", 201))
        self.assertNotIn("nodeName", (await self.pod())["spec"])

    async def test_bound(self) -> None:
        """The pod gets its node, the annotations of the binding beside its own, and condition PodScheduled."""
        await self.send("POST", f"{PODS}/p/binding", 201, binding(annotations={"a": "1", "b": "new"}))
        pod = await self.pod()
        self.assertEqual(pod["spec"]["nodeName"], "n1")
        self.assertEqual(pod["metadata"]["annotations"], {"a": "1", "b": "new"})
        (condition,) = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
        self.assertEqual(condition["status"], "True")

    async def test_once(self) -> None:
        """A pod that has a node keeps it: 409, and the refusal says which."""
        await self.send("POST", BINDINGS, 201, binding())
        message = await self.message("POST", BINDINGS, 409, binding("n2"))
        self.assertIn('pod p is already assigned to node "n1"', message)
        self.assertEqual((await self.pod())["spec"]["nodeName"], "n1")

    async def test_of_a_pod_that_ends(self) -> None:
        """A pod that is being deleted gets no node."""
        pod = await self.pod()
        held = {**pod, "metadata": {**pod["metadata"], "finalizers": ["example.com/a"]}}
        await self.send("PUT", f"{PODS}/p", 200, held)
        await self.send("DELETE", f"{PODS}/p", 200)
        message = await self.message("POST", BINDINGS, 409, binding())
        self.assertIn("pod p is being deleted, cannot be assigned to a host", message)

    async def test_to_something_else(self) -> None:
        """A pod is bound to a node, which the binding names."""
        wrong = {**binding(), "target": {"kind": "Pod", "name": ""}}
        causes = (await self.send("POST", f"{PODS}/p/binding", 422, wrong)).json["details"]["causes"]
        kind, name = sorted(causes, key=lambda cause: str(cause["field"]))
        self.assertEqual((kind["field"], kind["reason"]), ("target.kind", "FieldValueNotSupported"))
        self.assertIn('supported values: "Node", "<empty>"', kind["message"])
        self.assertEqual((name["field"], name["reason"]), ("target.name", "FieldValueRequired"))

    async def test_incomplete(self) -> None:
        """A binding without a name, or with another one than the path has, is a 400; one of no pod a 404."""
        self.assertIn("name is required", await self.message("POST", BINDINGS, 400, binding(name="")))
        message = await self.message("POST", f"{PODS}/p/binding", 400, binding(name="q"))
        self.assertEqual(message, "name in URL does not match name in Binding object")
        await self.send("POST", BINDINGS, 404, binding(name="nobody"))
        await self.send("POST", f"{PODS}/nobody/binding", 404, binding(name="nobody"))
