"""Mutating policies in front of a server (reference POLICY-12, POLICY-13)."""
# covers: orchtw.admission.policies.merging

from __future__ import annotations

from typing import Any

from orchtw.testing.admission_webhook import patching
from tests.admission.policies.case import PolicyCase, mutating

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}
POD = "Object.spec.template.spec"
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "old"}]}},
    },
}
DENIED = "policy 'p' with binding 'p' denied request: "


def containers(*items: str) -> str:
    """Return an apply configuration of a deployment's containers."""
    parts = ", ".join(f"{POD}.containers{{{each}}}" for each in items)
    pod = f"{POD}{{containers: [{parts}]}}"
    return f"Object{{spec: Object.spec{{template: Object.spec.template{{spec: {pod}}}}}}}"


class MutatingTests(PolicyCase):
    async def deploy(self) -> Any:
        """Create a deployment with one container, named c."""
        return await self.server.request("POST", "/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT)

    async def test_merge(self) -> None:
        """An apply configuration is merged by list types, with defaults and without owner (reference POLICY-12)."""
        await self.put(mutating(containers("name: 'c', image: 'new'", "name: 'e', image: 'i'"), rules=[DEPLOYMENTS]))
        answer = await self.deploy()
        found = answer.json["spec"]["template"]["spec"]["containers"]
        self.assertEqual([(each["name"], each["image"]) for each in found], [("c", "new"), ("e", "i")])
        self.assertEqual(found[1]["imagePullPolicy"], "Always")
        self.assertNotIn('"e"', str(answer.json["metadata"]["managedFields"]))

    async def test_atomic(self) -> None:
        """Atomic lists cannot be merged (reference POLICY-12)."""
        await self.put(mutating(containers("name: 'c', command: ['x']"), rules=[DEPLOYMENTS]))
        answer = await self.deploy()
        why = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        text = f'deployments.apps "d" is forbidden: {DENIED}{why}.spec.template.spec.containers[name="c"].command'
        self.assertStatus(answer, 403, "Invalid", text)

    async def test_unknown_fields(self) -> None:
        """Fields that the kind does not have cannot be merged (reference POLICY-12)."""
        await self.put(mutating("Object{spec: Object.spec{replica: 3}}", rules=[DEPLOYMENTS]))
        answer = await self.deploy()
        why = "error applying patch: failed to convert patch object to typed object: "
        text = f'deployments.apps "d" is forbidden: {DENIED}{why}.spec.replica: field not declared in schema'
        self.assertStatus(answer, 403, "Invalid", text)

    async def test_type_names(self) -> None:
        """Messages are named by their place (reference POLICY-12)."""
        await self.put(mutating("Object{metadata: Object.spec{name: 'y'}}"))
        answer = await self.create_map()
        text = 'unexpected type name "Object.spec", expected "Object.metadata"'
        self.assertIn(text, answer.json["message"])

    async def test_json_patch(self) -> None:
        """A JSON patch changes the object; a failed test leaves it as it was (reference POLICY-12)."""
        await self.put(
            mutating(
                '[JSONPatch{op: "add", path: "/data", value: {"a": object.metadata.name}}]',
                '[JSONPatch{op: "test", path: "/data/a", value: "y"}, JSONPatch{op: "remove", path: "/data"}]',
            )
        )
        self.assertEqual((await self.create_map("x")).json["data"], {"a": "x"})
        self.assertNotIn("data", (await self.create_map("y")).json)

    async def test_bad_patch(self) -> None:
        """Other errors of a patch refuse the write, unless failurePolicy is Ignore (reference POLICY-12)."""
        patch = '[JSONPatch{op: "remove", path: "/data/a"}]'
        await self.put(mutating(patch, name="ignored", failurePolicy="Ignore"))
        self.assertEqual((await self.create_map()).code, 201)
        await self.put(mutating(patch))
        answer = await self.create_map("y")
        self.assertEqual((answer.code, answer.json["reason"]), (403, "Invalid"))
        self.assertIn(f"{DENIED}JSON Patch: ", answer.json["message"])

    async def test_conditions(self) -> None:
        """A false match condition leaves the object as it is (reference POLICY-8)."""
        conditions = [{"name": "n", "expression": "object.metadata.name == 'y'"}]
        await self.put(mutating("Object{data: Object.data{a: 'b'}}", matchConditions=conditions))
        self.assertNotIn("data", (await self.create_map("x")).json)
        self.assertEqual((await self.create_map("y")).json["data"], {"a": "b"})

    async def test_again(self) -> None:
        """A webhook's change calls a policy with IfNeeded once more (reference POLICY-13)."""
        copy = "Object{data: Object.data{copy: has(object.data) && 'a' in object.data ? object.data.a : 'none'}}"
        await self.put(mutating(copy.replace("copy:", "once:"), name="never"))
        await self.put(mutating(copy, reinvocationPolicy="IfNeeded"))
        hook = await self.webhook("configmaps", mutating=True)
        hook.answers = lambda _request: patching({"op": "add", "path": "/data/a", "value": "b"})
        answer = await self.create_map()
        self.assertEqual(answer.json["data"], {"a": "b", "copy": "b", "once": "none"})
