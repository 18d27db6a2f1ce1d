"""Patches over the wire: each kind on objects and sub-resources, refusals, races, and `kubectl`
(reference PATCH-1).
"""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from orchtw.testing.kubectl import Result, minor_version
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase
from tests.end_to_end.client import Answer
from tests.end_to_end.kubectl_case import KubectlCase

TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
CANNOT = "the server rejected our request due to an error in our request"
WRITERS = 64


def deployment(name: str) -> Object:
    """A Deployment with two containers."""
    containers = [{"name": "c1", "image": "a:1", "ports": [{"containerPort": 80}]}, {"name": "c2", "image": "b:1"}]
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        },
    }


class PatchTests(ServerCase):
    """PATCH as clients send it."""

    async def patch(self, kind: str, path: str, body: Any) -> Answer:
        """A patch of the named kind; bytes go as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.send("PATCH", path, data, {"Content-Type": TYPES[kind]})

    async def patched(self, kind: str, path: str, body: Any) -> Object:
        """Return the response of a successful patch."""
        answer = await self.patch(kind, path, body)
        self.assertEqual(answer.code, 200, answer)
        result: Object = answer.json
        return result

    async def config_map(self, **data: str) -> str:
        """The path of a new ConfigMap."""
        name = self.unique("cm")
        await self.created(self.core("configmaps"), {"metadata": {"name": name}, "data": data})
        return self.core("configmaps", name)

    async def new_deployment(self) -> str:
        name = self.unique("d")
        await self.created(self.group("apps/v1", "deployments"), deployment(name))
        return self.group("apps/v1", "deployments", name)

    async def test_each_kind(self) -> None:
        """Each kind of patch changes an object; the same change again writes nothing (reference PATCH-1, PATCH-5)."""
        path = await self.config_map(a="1", b="2")
        operations = [{"op": op, "path": "/data/a", "value": value} for op, value in (("test", "4"), ("add", "6"))]
        for kind, body in (
            ("merge", {"data": {"a": "3", "b": None}}),
            ("strategic", {"data": {"a": "4", "c": "5"}}),
            ("json", operations),
        ):
            before = (await self.client.get(path)).version
            first = await self.patched(kind, path, body)
            self.assertNotEqual(first["metadata"]["resourceVersion"], before)
            self.assertEqual((await self.client.get(path)).json, first)
            if kind != "json":
                self.assertEqual(await self.patched(kind, path, body), first)
        self.assertEqual(first["data"], {"a": "6", "c": "5"})
        again = await self.patched("json", path, [{"op": "replace", "path": "/data/a", "value": "6"}])
        self.assertEqual(again, first)

    async def test_parameters_of_the_type(self) -> None:
        """Parameters of the Content-Type are ignored (reference PATCH-1)."""
        path = await self.config_map(a="1")
        headers = {"Content-Type": TYPES["merge"] + "; charset=utf-8"}
        answer = await self.client.send("PATCH", path, b'{"data":{"a":"2"}}', headers)
        self.assertEqual((answer.code, answer.json["data"]), (200, {"a": "2"}))

    async def test_unsupported_type(self) -> None:
        """Any other type is a 415 that names the four (reference ERR-31)."""
        path = await self.config_map(a="1")
        answer = await self.client.send("PATCH", path, {"data": {"a": "2"}})
        text = (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
            "application/apply-patch+yaml"
        )
        self.assertRefused(answer, 415, "UnsupportedMediaType", text)

    async def test_strategic_lists(self) -> None:
        """Containers merge by name; the result has its defaults."""
        path = await self.new_deployment()
        changed, new = {"name": "c2", "image": "b:2"}, {"name": "c3", "image": "d:1"}
        containers = [changed, new, {"name": "c1", "$patch": "delete"}]
        body = {"spec": {"template": {"spec": {"containers": containers}}}}
        result = await self.patched("strategic", path, body)
        found = result["spec"]["template"]["spec"]["containers"]
        self.assertEqual([(each["name"], each["image"]) for each in found], [("c2", "b:2"), ("c3", "d:1")])
        self.assertEqual(found[1]["terminationMessagePath"], "/dev/termination-log")

    async def test_subresources(self) -> None:
        """Status and scale take every kind of patch; the rest of the object stays as it is."""
        path = await self.new_deployment()
        for replicas, (kind, body) in enumerate(
            (
                ("merge", {"spec": {"replicas": 0}, "status": {"replicas": 0}}),
                ("strategic", {"spec": {"replicas": 1}, "status": {"replicas": 1}}),
                ("json", [{"op": "add", "path": "/spec/replicas", "value": 2}]),
            )
        ):
            scale = await self.patched(kind, f"{path}/scale", body)
            self.assertEqual((scale["kind"], scale["spec"].get("replicas", 0)), ("Scale", replicas))
            self.assertEqual(await self.patched(kind, f"{path}/scale", body), scale)
            status = [{"op": "add", "path": "/status/replicas", "value": replicas}] if kind == "json" else body
            result = await self.patched(kind, f"{path}/status", status)
            self.assertEqual(result["status"].get("replicas", 0), replicas)
            self.assertEqual(result["spec"]["replicas"], replicas)
        answer = await self.patch("merge", f"{path}/scale", {"metadata": {"name": "other"}})
        self.assertEqual((answer.code, answer.json["reason"]), (400, "BadRequest"))

    async def test_applied_scale(self) -> None:
        """An applied Scale owns the workload's replicas as `scale`; two managers conflict (reference APPLY-16)."""
        path = await self.new_deployment()
        scale: Object = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}

        async def apply(manager: str, body: Object, query: str = "") -> Answer:
            data, headers = json.dumps(body).encode(), {"Content-Type": "application/apply-patch+yaml"}
            return await self.client.send("PATCH", f"{path}/scale?fieldManager={manager}{query}", data, headers)

        answer = await apply("one", scale, "&force=true")
        self.assertEqual((answer.code, answer.json["spec"]), (200, {"replicas": 3}), answer)
        live = (await self.client.get(path)).json
        entry = next(each for each in live["metadata"]["managedFields"] if each["manager"] == "one")
        self.assertEqual((entry["operation"], entry["subresource"]), ("Apply", "scale"))
        self.assertEqual(entry["fieldsV1"], {"f:spec": {"f:replicas": {}}})
        self.assertEqual((await apply("one", scale)).version, answer.version)
        other = {**scale, "spec": {"replicas": 4}}
        self.assertEqual((await apply("two", other)).code, 409)
        self.assertEqual((await apply("two", other, "&force=true")).json["spec"], {"replicas": 4})
        for body, code in (({**scale, "apiVersion": "v1"}, 400), ({**scale, "spec": {"replicas": -1}}, 422)):
            self.assertEqual((await apply("one", body)).code, code)
        self.assertEqual((await apply("one", {**scale, "zap": 1})).code, 400)

    async def test_a_missing_object(self) -> None:
        """A patch of what is not there is a 404, also where a PUT would create."""
        for path, text in (
            (self.core("configmaps", "none"), 'configmaps "none" not found'),
            (self.core("services", "none"), 'services "none" not found'),
            (self.group("apps/v1", "deployments", "none", "scale"), 'deployments.apps "none" not found'),
        ):
            for kind, body in (("merge", {}), ("strategic", {}), ("json", [])):
                self.assertRefused(await self.patch(kind, path, body), 404, "NotFound", text)

    async def test_not_a_patch(self) -> None:
        """A body that is not a patch of its kind is a 400 (reference PATCH-10, PATCH-12, PATCH-17)."""
        path = await self.config_map(a="1")
        for kind, bodies in (("merge", (b"{", b"[]")), ("strategic", (b"{", b"[]")), ("json", (b"[", b"{}", b"[1]"))):
            for body in (b"", *bodies):
                answer = await self.patch(kind, path, body)
                self.assertEqual((answer.code, answer.json["reason"]), (400, "BadRequest"), answer)

    async def test_deep_nesting(self) -> None:
        """A patch nested deeper than anything sensible is refused, and costs no more than that."""
        path = await self.config_map(a="1")
        deep = b'{"data":' * 900 + b"{}" + b"}" * 900
        for kind in ("merge", "strategic"):
            answer = await self.patch(kind, path, deep)
            self.assertIn(answer.code, (400, 422), answer)
        nested = b'[{"op":"add","path":"/data/x","value":' + deep + b"}]"
        self.assertIn((await self.patch("json", path, nested)).code, (400, 422))

    async def test_cannot_be_applied(self) -> None:
        """A failed test, a missing path and an unknown operation are a 422 with a general text
        (reference PATCH-11).
        """
        path = await self.config_map(a="1")
        for operation in (
            {"op": "test", "path": "/data/a", "value": "2"},
            {"op": "remove", "path": "/data/b"},
            {"op": "zap", "path": "/data/a"},
        ):
            status = self.assertRefused(await self.patch("json", path, [operation]), 422, "Invalid", CANNOT)
            self.assertEqual(status["details"], {})

    async def test_too_many_operations(self) -> None:
        """More than 10,000 operations are a 413 (reference ERR-33)."""
        path = await self.config_map(a="1")
        text = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        answer = await self.patch("json", path, [{}] * 10001)
        self.assertRefused(answer, 413, "RequestEntityTooLarge", text)

    async def test_result_that_is_no_object(self) -> None:
        """A result that cannot be decoded is a 422 that shows it (reference PATCH-5)."""
        path = await self.new_deployment()
        body = {"spec": {"replicas": "x"}}
        status = (await self.patch("merge", path, body)).json
        self.assertEqual((status["code"], status["reason"]), (422, "Invalid"))
        self.assertTrue(status["message"].startswith(' "" is invalid: patch: Invalid value: "{\\"kind\\":'), status)
        self.assertIn('expected an integer, got string "x"', status["message"])
        status = (await self.patch("strategic", path, body)).json
        start = ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:x]]": '
        self.assertEqual((status["code"], status["message"][: len(start)]), (422, start))
        results: tuple[Any, ...] = (None, [], "x")
        for value in results:
            answer = await self.patch("json", path, [{"op": "replace", "path": "", "value": value}])
            self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"), answer)

    async def test_invalid_result(self) -> None:
        """A result that breaks a rule of its kind is a 422 with causes."""
        path = await self.config_map(a="1")
        answer = await self.patch("merge", path, {"metadata": {"labels": {"a": "-"}}})
        self.assertEqual((answer.code, answer.json["details"]["causes"][0]["field"]), (422, "metadata.labels"))

    async def test_names_stay(self) -> None:
        """A patch that changes name or namespace is a 400 (reference PATCH-5)."""
        path = await self.config_map(a="1")
        name = path.rpartition("/")[2]
        for kind in ("merge", "strategic"):
            text = f"the name of the object (other) does not match the name on the URL ({name})"
            answer = await self.patch(kind, path, {"metadata": {"name": "other"}})
            self.assertRefused(answer, 400, "BadRequest", text)
            text = (
                "the namespace of the object (other) does not match "
                f"the namespace on the request ({self.namespace})"
            )
            answer = await self.patch(kind, path, {"metadata": {"namespace": "other"}})
            self.assertRefused(answer, 400, "BadRequest", text)

    async def test_stale_version(self) -> None:
        """A resourceVersion in the patch is a precondition: 409 when it no longer fits (reference PATCH-4)."""
        path = await self.config_map(a="1")
        old = (await self.client.get(path)).version
        fits = {"metadata": {"resourceVersion": old}, "data": {"a": "2"}}
        new = (await self.patched("merge", path, fits))["metadata"]
        name = path.rpartition("/")[2]
        text = (
            f'Operation cannot be fulfilled on configmaps "{name}": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )
        for kind in ("merge", "strategic"):
            answer = await self.patch(kind, path, {"metadata": {"resourceVersion": old}, "data": {"a": "3"}})
            self.assertRefused(answer, 409, "Conflict", text)
        operation = {"op": "test", "path": "/metadata/resourceVersion", "value": old}
        self.assertRefused(await self.patch("json", path, [operation]), 422, "Invalid", CANNOT)
        operation["value"] = new["resourceVersion"]
        self.assertEqual((await self.patch("json", path, [operation])).code, 200)

    async def test_no_kind_needs_a_version(self) -> None:
        """Kinds whose PUT must name a resourceVersion are patched without one."""
        name = self.unique("lease")
        api = self.group("coordination.orch.io/v1", "leases")
        await self.created(api, {"metadata": {"name": name}})
        result = await self.patched("merge", f"{api}/{name}", {"spec": {"holderIdentity": "me"}})
        self.assertEqual(result["spec"]["holderIdentity"], "me")

    async def test_force_is_for_apply(self) -> None:
        """`force` is refused with any other kind of patch (reference PATCH-6)."""
        path = await self.config_map(a="1")
        answer = await self.patch("merge", f"{path}?force=true", {})
        text = (
            f'PatchOptions.{self.naming.meta_group} "" is invalid: force: Forbidden: '
            "may not be specified for non-apply patch"
        )
        self.assertRefused(answer, 422, "Invalid", text)

    async def test_dry_run(self) -> None:
        """A dry run answers the patched object and stores nothing (reference WRITE-19)."""
        path = await self.config_map(a="1")
        before = (await self.client.get(path)).json
        result = await self.patched("strategic", f"{path}?dryRun=All", {"data": {"a": "2"}})
        self.assertEqual(result["data"], {"a": "2"})
        self.assertEqual((await self.client.get(path)).json, before)

    async def test_racing_writers(self) -> None:
        """Writers of one object at the same time all get through, and none is lost (reference PATCH-4)."""
        path = await self.config_map()
        lease = self.group("coordination.orch.io/v1", "leases")
        name = self.unique("lease")
        await self.created(lease, {"metadata": {"name": name}})
        kinds = ("merge", "strategic")
        for target, field in ((path, "annotations"), (f"{lease}/{name}", "labels")):
            bodies = [{"metadata": {field: {f"w{number}": "x"}}} for number in range(WRITERS)]
            answers = await gatherResults(
                [
                    Deferred.fromCoroutine(self.patch(kinds[number % 2], target, body))
                    for number, body in enumerate(bodies)
                ],
                consumeErrors=True,
            )
            self.assertEqual({answer.code for answer in answers}, {200})
            self.assertEqual(len((await self.client.get(target)).json["metadata"][field]), WRITERS)


class PatchingCase(KubectlCase):
    """The commands of `kubectl` that patch: each has its effect, and none when it is repeated."""

    variables = {"KUBE_EDITOR": "sed -i s/edit:before/edit:after/"}

    async def version(self, what: str) -> str:
        """The resourceVersion of `kind/name`."""
        result = await self.run_any("get", what, "-o", "jsonpath={.metadata.resourceVersion}")
        self.assertEqual(result.status, 0, result)
        return result.output

    async def changes_once(self, what: str, *arguments: str, stdin: str = "") -> Result:
        """Run a command twice: the first run changes the object, the second does not."""
        before = await self.version(what)
        first = await self.run_any(*arguments, stdin=stdin)
        self.assertEqual(first.status, 0, first)
        changed = await self.version(what)
        self.assertNotEqual(changed, before, arguments)
        second = await self.run_any(*arguments, stdin=stdin)
        self.assertEqual(second.status, 0, second)
        self.assertEqual(await self.version(what), changed, arguments)
        return second

    def manifest(self, kind: str, api_version: str, obj: Object, labels: Object | None = None) -> str:
        """An object for standard input."""
        meta = {**obj["metadata"], "labels": labels or {}}
        return json.dumps({"kind": kind, "apiVersion": api_version, **obj, "metadata": meta})

    async def kubectl_apply(self) -> None:
        """Client-side apply creates, changes and prunes."""
        obj, labels = deployment("web"), {"app": self.unique("app")}
        config = self.manifest("ConfigMap", "v1", {"metadata": {"name": "cm"}, "data": {"a": "1"}}, labels)
        text = self.manifest("Deployment", "apps/v1", obj, labels)
        for stdin, said in ((text, "created"), (text, "unchanged"), (config, "created")):
            result = await self.run_any("apply", "-f", "-", stdin=stdin)
            self.assertEqual((result.status, result.output.split()[-1]), (0, said), result)
        containers = obj["spec"]["template"]["spec"]["containers"]
        containers[0]["image"] = "a:2"
        del containers[1]
        text = self.manifest("Deployment", "apps/v1", obj, labels)
        second = await self.changes_once("deployment/web", "apply", "-f", "-", stdin=text)
        self.assertIn("unchanged", second.output)
        selector = f"app={labels['app']}"
        kinds = "--prune-allowlist" if minor_version() >= 26 else "--prune-whitelist"
        prune = ("apply", "--prune", "-l", selector, f"{kinds}=core/v1/ConfigMap", "-f", "-")
        for pruned in (True, False):
            result = await self.run_any(*prune, stdin=text)
            self.assertEqual((result.status, "configmap/cm pruned" in result.output), (0, pruned), result)
        self.assertEqual((await self.client.get(self.core("configmaps", "cm"))).code, 404)

    async def kubectl_patch(self) -> None:
        """`patch` sends all three kinds, on the object and its sub-resources."""
        await self.created(self.group("apps/v1", "deployments"), deployment("web"))
        for kind, body in (
            ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"c1","image":"a:2"}]}}}}'),
            ("merge", '{"metadata":{"annotations":{"a":"b"}}}'),
            ("json", '[{"op":"replace","path":"/spec/replicas","value":3}]'),
        ):
            result = await self.changes_once("deployment/web", "patch", "deployment/web", "--type", kind, "-p", body)
            self.assertIn("patched (no change)", result.output)
        for subresource, body in (("scale", '{"spec":{"replicas":4}}'), ("status", '{"status":{"replicas":4}}')):
            if minor_version() >= 24:
                arguments = ("patch", "deployment/web", f"--subresource={subresource}", "--type=merge", "-p", body)
                await self.changes_once("deployment/web", *arguments)
            else:  # the flag is not there yet
                path = self.group("apps/v1", "deployments", "web", subresource)
                self.assertEqual((await self.client.merge(path, json.loads(body))).code, 200)
        live = (await self.client.get(self.group("apps/v1", "deployments", "web"))).json
        self.assertEqual((live["spec"]["replicas"], live["status"]["replicas"]), (4, 4))
        images = [each["image"] for each in live["spec"]["template"]["spec"]["containers"]]
        self.assertEqual(images, ["a:2", "b:1"])

    async def kubectl_change(self) -> None:
        """`set image`, `set env`, `scale`, `label`, `annotate`, `edit`, `rollout restart`."""
        await self.created(self.group("apps/v1", "deployments"), deployment("web"))
        for arguments in (
            ("set", "image", "deployment/web", "c1=edit:before"),
            ("set", "env", "deployment/web", "-c", "c1", "A=1"),
            ("scale", "deployment/web", "--replicas=5"),
            ("label", "deployment/web", "tier=front", "--overwrite"),
            ("annotate", "deployment/web", "note=x", "--overwrite"),
            ("edit", "deployment/web"),
        ):
            await self.changes_once("deployment/web", *arguments)
        result = await self.run_any("rollout", "restart", "deployment/web")
        self.assertEqual(result.status, 0, result)
        live = (await self.client.get(self.group("apps/v1", "deployments", "web"))).json
        template = live["spec"]["template"]
        self.assertEqual([each["image"] for each in template["spec"]["containers"]], ["edit:after", "b:1"])
        self.assertEqual(template["spec"]["containers"][0]["env"], [{"name": "A", "value": "1"}])
        self.assertEqual(list(template["metadata"]["annotations"]), ["kubectl.kubernetes.io/restartedAt"])
        self.assertEqual(live["spec"]["replicas"], 5)

    async def kubectl_taint(self) -> None:
        """`taint` and `cordon` change a node."""
        node = self.unique("node")
        await self.created("/api/v1/nodes", {"metadata": {"name": node}})
        await self.changes_once(f"node/{node}", "taint", "node", node, "k=v:NoSchedule", "--overwrite")
        await self.changes_once(f"node/{node}", "cordon", node)
        live = (await self.client.get(f"/api/v1/nodes/{node}")).json
        taint, *others = live["spec"]["taints"]
        self.assertEqual(taint, {"key": "k", "value": "v", "effect": "NoSchedule"})
        self.assertEqual([each["key"].partition("/")[2] for each in others], ["not-ready"])
        self.assertTrue(live["spec"]["unschedulable"])
        result = await self.run_any("taint", "node", node, "k-")
        self.assertEqual(result.status, 0, result)
        self.assertEqual((await self.client.get(f"/api/v1/nodes/{node}")).json["spec"]["taints"], others)


class OrchKubectlTests(PatchingCase):
    """Under the specification's own names."""

    async def test_apply(self) -> None:
        """Client-side `apply` creates, changes and prunes; repeated it changes nothing."""
        await self.kubectl_apply()

    async def test_patch(self) -> None:
        """`patch` of every type; repeated it changes nothing."""
        await self.kubectl_patch()

    async def test_change(self) -> None:
        """The commands that change one thing; repeated they change nothing."""
        await self.kubectl_change()

    async def test_taint(self) -> None:
        """`taint` and `cordon`; repeated they change nothing."""
        await self.kubectl_taint()


class KubernetesKubectlTests(OrchKubectlTests):
    """Patches under Kubernetes' names."""

    vocabulary = "kubernetes"
