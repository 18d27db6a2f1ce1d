"""Mutating webhooks in front of a server (reference HOOK-15, HOOK-17, HOOK-18)."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from orchtw.testing.admission_webhook import AdmissionWebhook, patching
from tests.admission.webhooks.case import MAPS, MERGE, WebhookCase


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


class MutatingTests(WebhookCase):
    async def mutating(self, name: str, *resources: str, **settings: Any) -> AdmissionWebhook:
        return await self.webhook(*(resources or ("configmaps",)), mutating=True, name=name, **settings)

    async def test_order(self) -> None:
        """Configurations come by their names, and each sees what those before it have made (reference HOOK-6)."""
        second, first = await self.mutating("b.b.c"), await self.mutating("a.b.c")
        first.patch(add("/data", {"by": "first"}))
        second.patch(add("/data/then", "second"))
        answer = await self.create_map()
        self.assertEqual((answer.code, answer.json["data"]), (201, {"by": "first", "then": "second"}))
        self.assertNotIn("data", first.reviews[0]["object"])
        self.assertEqual(second.reviews[0]["object"]["data"], {"by": "first"})
        self.assertEqual(second.reviews[0]["object"]["metadata"]["creationTimestamp"], None)

    async def test_defaults(self) -> None:
        """Defaults are filled in after a patch, before the next webhook sees the object (reference HOOK-17)."""
        first, second = await self.mutating("a.b.c", "services"), await self.mutating("b.b.c", "services")
        first.patch(add("/spec/ports/-", {"port": 81, "name": "more"}))
        spec = {"ports": [{"port": 80, "name": "one"}]}
        path = "/api/v1/namespaces/default/services"
        found = await self.created(path, {"metadata": {"name": "x"}, "spec": spec})
        self.assertEqual(found["spec"]["ports"][1]["protocol"], "TCP")
        self.assertEqual(second.reviews[0]["object"]["spec"]["ports"][1]["protocol"], "TCP")

    async def test_name(self) -> None:
        """On CREATE a webhook may choose the name; on UPDATE it may not (reference HOOK-17)."""
        hook = await self.mutating("a.b.c")
        hook.patch(add("/metadata/name", "other"))
        answer = await self.create_map()
        self.assertEqual((answer.code, answer.json["metadata"]["name"]), (201, "other"))
        self.assertEqual(hook.reviews[0]["name"], "x")
        hook.allow()
        await self.create_map("y")
        hook.patch(add("/metadata/name", "z"))
        answer = await self.server.request("PUT", f"{MAPS}/y", {"metadata": {"name": "y"}, "data": {"a": "b"}})
        self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"))
        self.assertIn("metadata.name: Invalid value", answer.json["message"])

    async def test_other_identity(self) -> None:
        """Another kind, version or namespace is refused."""
        hook = await self.mutating("a.b.c")
        for key, code in (("kind", 500), ("apiVersion", 500), ("metadata/namespace", 400)):
            hook.patch(add(f"/{key}", "other"))
            self.assertEqual((await self.create_map()).code, code, key)

    async def test_delete(self) -> None:
        """There is nothing to change in what ends; an empty patch is not a patch (reference HOOK-17)."""
        hook = await self.mutating("a.b.c")
        await self.create_map()
        hook.patch(add("/data", {}))
        answer = await self.server.request("DELETE", f"{MAPS}/x")
        why = "attempted to modify the object, which is not supported for this operation"
        text = f'Internal error occurred: admission webhook "a.b.c" {why}'
        self.assertStatus(answer, 500, "InternalError", text)
        hook.patch()
        self.assertEqual((await self.server.request("DELETE", f"{MAPS}/x")).code, 200)
        review = hook.reviews[-1]
        self.assertEqual((review["operation"], review["object"]), ("DELETE", None))
        self.assertEqual(review["oldObject"]["metadata"]["name"], "x")

    async def test_second_round(self) -> None:
        """Those that ask for it are called once more if what they left was changed (reference HOOK-18)."""
        once = await self.mutating("a.b.c")
        again = await self.mutating("b.b.c", reinvocationPolicy="IfNeeded")
        last = await self.mutating("c.b.c", reinvocationPolicy="IfNeeded")
        counted = {"a": 0, "b": 0}

        def count(request: dict[str, Any]) -> Any:
            counted["b"] += 1
            return patching(add("/data", {"b": str(counted["b"])}))

        again.answers = count
        last.answers = lambda request: patching(add("/data/c", request["object"]["data"]["b"]))
        answer = await self.create_map()
        self.assertEqual([len(each.reviews) for each in (once, again, last)], [1, 2, 2])
        self.assertEqual(answer.json["data"], {"b": "2", "c": "2"})

    async def test_no_second_round(self) -> None:
        """Nobody is called again when nothing, or only the webhook itself, has changed anything since."""
        alone = await self.mutating("a.b.c", reinvocationPolicy="IfNeeded")
        await self.create_map("x")
        self.assertEqual(len(alone.reviews), 1)
        alone.patch(add("/data", {"a": "b"}))
        await self.create_map("y")
        self.assertEqual(len(alone.reviews), 2)

    async def test_built_in_again(self) -> None:
        """Built-in plugins look at what webhooks have changed (reference HOOK-18)."""
        hook = await self.mutating("a.b.c", "pods")
        group = "/apis/scheduling.orch.io/v1/priorityclasses"
        await self.created(group, {"metadata": {"name": "high"}, "value": 77})
        await self.created("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}, 201, 409)
        hook.patch(add("/spec/priorityClassName", "high"), {"op": "remove", "path": "/spec/priority"})
        pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        found = await self.created("/api/v1/namespaces/default/pods", pod)
        self.assertEqual((found["spec"]["priorityClassName"], found["spec"]["priority"]), ("high", 77))
        self.assertEqual(len(hook.reviews), 1)

    async def test_labels_on_the_way(self) -> None:
        """Webhooks are matched against the object as earlier ones left it."""
        first = await self.mutating("a.b.c")
        second = await self.mutating("b.b.c", objectSelector={"matchLabels": {"seen": "yes"}})
        await self.create_map("x")
        self.assertEqual(len(second.reviews), 0)
        first.patch(add("/metadata/labels", {"seen": "yes"}))
        await self.create_map("y")
        self.assertEqual(len(second.reviews), 1)

    async def test_patch_and_scale(self) -> None:
        """Patches, applies and sub-resources are updates, of their own kinds (reference HOOK-9, HOOK-12)."""
        hook = await self.mutating("a.b.c", "*/*", operations=("UPDATE",))
        await self.create_map()
        hook.patch(add("/metadata/annotations", {"by": "hook"}))
        answer = await self.server.request("PATCH", f"{MAPS}/x", {"data": {"a": "b"}}, MERGE)
        self.assertEqual(answer.json["metadata"]["annotations"], {"by": "hook"})
        hook.allow()
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        path = "/apis/apps/v1/namespaces/default/deployments"
        await self.created(path, {"metadata": {"name": "d"}, "spec": spec})
        hook.reviews.clear()
        hook.patch(add("/spec/replicas", 5))
        answer = await self.server.request("PATCH", f"{path}/d/scale", {"spec": {"replicas": 3}}, MERGE)
        self.assertEqual((answer.code, answer.json["spec"]), (200, {"replicas": 5}))
        (review,) = hook.reviews
        self.assertEqual(review["kind"], {"group": "autoscaling", "version": "v1", "kind": "Scale"})
        self.assertEqual((review["resource"]["resource"], review["subResource"]), ("deployments", "scale"))
        self.assertEqual(review["oldObject"]["spec"], {"replicas": 1})

    async def test_custom_resource(self) -> None:
        """A webhook sees a custom object in its own version, and its change comes back (reference HOOK-8)."""
        schema = {"type": "object", "x-orch-preserve-unknown-fields": True}
        versions = [
            {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}
            for name in ("v1", "v2")
        ]
        names = {"plural": "things", "kind": "Thing"}
        definition = {
            "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions},
        }
        await self.created("/apis/apiextensions.orch.io/v1/customresourcedefinitions", definition)
        while (await self.server.request("GET", "/apis/example.com/v2/things")).code != 200:
            await self.pause()
        rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["things"]}
        hook = await self.mutating("a.b.c", rules=[rule])
        hook.patch(add("/size", 3))
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        found = await self.created("/apis/example.com/v1/things", thing)
        self.assertEqual((found["apiVersion"], found["size"]), ("example.com/v1", 3))
        (review,) = hook.reviews
        self.assertEqual(review["object"]["apiVersion"], "example.com/v2")
        self.assertEqual((review["kind"]["version"], review["requestKind"]["version"]), ("v2", "v1"))


class AuditTests(WebhookCase):
    """Audit annotations of mutating webhooks (reference HOOK-25)."""

    settings = {"controllers": ("-*",)}

    async def annotations(self) -> dict[str, str]:
        """Of the request that creates a ConfigMap, seen on its way; `detailed` are those for levels with bodies."""
        seen: list[Any] = []
        app = self.server.instance.front.app

        async def watching(request: Any) -> Any:
            seen.append(request)
            return await app(request)

        self.server.instance.front = msgspec.structs.replace(self.server.instance.front, app=watching)
        await self.create_map()
        self.detailed: dict[str, str] = seen[0].detailed_annotations
        found: dict[str, str] = seen[0].annotations
        return found

    async def test_mutation(self) -> None:
        """Every call says whether it changed something, and a patch what."""
        first = await self.webhook("configmaps", mutating=True, name="a.b.c")
        await self.webhook("configmaps", mutating=True, name="b.b.c")
        first.patch(add("/data", {"k": "v"}))
        found = await self.annotations()
        prefix = "webhook.admission.orch.io/round_0_index_"
        patch = '"patch":[{"op":"add","path":"/data","value":{"k":"v"}}],"patchType":"JSONPatch"'
        whole = f'{{"configuration":"a.b.c","webhook":"a.b.c",{patch}}}'
        self.assertEqual(self.detailed, {f"patch.{prefix}0": whole})
        expected = {
            f"mutation.{prefix}0": {"configuration": "a.b.c", "webhook": "a.b.c", "mutated": True},
            f"mutation.{prefix}1": {"configuration": "b.b.c", "webhook": "b.b.c", "mutated": False},
        }
        self.assertEqual({key: orjson.loads(value) for key, value in found.items()}, expected)

    async def test_failed_open(self) -> None:
        """A webhook that was passed over is named."""
        for mutating, name in ((True, "a.b.c"), (False, "d.b.c")):
            hook = await self.webhook("configmaps", mutating=mutating, name=name, failurePolicy="Ignore")
            await hook.stop()
        found = await self.annotations()
        where = "webhook.admission.orch.io/round_0_index_0"
        self.assertEqual(found[f"failed-open.mutation.{where}"], "a.b.c")
        self.assertEqual(found[f"failed-open.validating.{where}"], "d.b.c")
        self.assertEqual(orjson.loads(found[f"mutation.{where}"])["mutated"], False)

    async def test_own(self) -> None:
        """A webhook's annotations have its name before them; what can be no name is left out (reference HOOK-19)."""
        hook = await self.webhook("configmaps", name="a.b.c")
        hook.allow(auditAnnotations={"key": "value", "no name": "x", "a/b": "x"})
        self.assertEqual(await self.annotations(), {"a.b.c/key": "value"})
