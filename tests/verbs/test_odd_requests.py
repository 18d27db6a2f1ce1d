"""Requests and stored objects that make no sense are refused or served; none is a fault of the server."""

from __future__ import annotations

from typing import Any

from tests.registry.unchecked import without_rules
from tests.verbs.answered import Case

NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"
SPEC = {"containers": [{"name": "c", "image": "i"}]}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
AUTOSCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.orch.io"}
APPLY = {"content-type": "application/apply-patch+yaml"}
MANY_DIGITS = "9" * 5000


class NamespaceNameTests(Case):
    """Namespaces, which are labelled with their names (reference DEL-14)."""

    async def test_generated(self) -> None:
        """A generated name is the label's value too."""
        meta = (await self.send("POST", NAMESPACES, 201, {"metadata": {"generateName": "x-"}})).json["metadata"]
        self.assertTrue(meta["name"].startswith("x-"))
        self.assertEqual(meta["labels"], {"orch.io/metadata.name": meta["name"]})

    async def test_none(self) -> None:
        """Without a name there is none to generate from (reference OBJ-31)."""
        bodies: tuple[Any, ...] = ({}, {"metadata": {}}, {"metadata": {"name": ""}})
        for body in bodies:
            text = await self.message("POST", NAMESPACES, 422, body)
            self.assertIn("metadata.name: Required value: name or generateName is required", text)


class EmptyNamespaceTests(Case):
    """A path with an empty namespace, which some clients send for all namespaces (reference REQ-10)."""

    async def test_reads(self) -> None:
        """It reads what is in any namespace."""
        await self.send("POST", PODS, 201, {"metadata": {"name": "a"}, "spec": SPEC})
        listed = (await self.send("GET", "/api/v1/namespaces//pods", 200)).json
        self.assertEqual([item["metadata"]["name"] for item in listed["items"]], ["a"])

    async def test_no_writes(self) -> None:
        """It makes nothing and deletes nothing, and no single object is there."""
        await self.send("POST", PODS, 201, {"metadata": {"name": "a"}, "spec": SPEC})
        await self.send("POST", "/api/v1/namespaces//pods", 405, {"metadata": {"name": "b"}, "spec": SPEC})
        await self.send("DELETE", "/api/v1/namespaces//pods", 405)
        await self.send("GET", "/api/v1/namespaces//pods/a", 404)
        await self.send("GET", f"{PODS}/a", 200)


class OldWatchTests(Case):
    """Paths with `/watch/` (reference REQ-6)."""

    async def test_only_get(self) -> None:
        """No other method is made a watch."""
        for method in ("POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
            for path in ("pods", "namespaces/default/pods", "namespaces/default/pods/x", "nodes"):
                await self.send(method, f"/api/v1/watch/{path}", 405)


class VersionTests(Case):
    """A resourceVersion is at most 64 bits of ASCII digits, wherever it comes from."""

    async def test_long(self) -> None:
        """One of 5,000 digits is a 400, and as a precondition of a delete one that does not hold."""
        await self.send("POST", PODS, 201, {"metadata": {"name": "a"}, "spec": SPEC})
        for version in (MANY_DIGITS, "\u0663", "-1", "1.0"):
            body = {"metadata": {"name": "a", "resourceVersion": version}}
            merge = {"content-type": "application/merge-patch+json"}
            await self.send("PUT", f"{PODS}/a", 400, body)
            await self.send("PATCH", f"{PODS}/a", 400, body, merge)
            await self.send("GET", f"{PODS}/a?resourceVersion={version}", 400)
            await self.send("GET", f"{PODS}?resourceVersion={version}", 400)
            await self.send("GET", f"{PODS}?watch=1&resourceVersion={version}", 400)
            await self.send("DELETE", f"{PODS}/a", 409, {"preconditions": {"resourceVersion": version}})

    async def test_applied(self) -> None:
        """The same in an apply."""
        await self.send("POST", PODS, 201, {"metadata": {"name": "a"}, "spec": SPEC})
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "resourceVersion": MANY_DIGITS}}
        await self.send("PATCH", f"{PODS}/a?fieldManager=m", 400, body, APPLY)


class SelectorTests(Case):
    """Selectors of stored objects that mean nothing (reference READ-24)."""

    NONSENSE = (
        {"matchExpressions": [{"key": "a", "operator": "Foo"}]},
        {"matchExpressions": [{"key": "a", "operator": ""}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
    )

    async def test_scale(self) -> None:
        """There is no Scale of a workload without a readable selector, and no way to apply one."""
        for number, selector in enumerate(self.NONSENSE):
            spec = {"selector": selector, "template": {}}
            with without_rules():
                await self.send("POST", DEPLOYMENTS, 201, {"metadata": {"name": f"d{number}"}, "spec": spec})
            url = f"{DEPLOYMENTS}/d{number}"
            await self.send("GET", f"{url}/scale", 400)
            applied = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 7}}
            await self.send("PATCH", f"{url}/scale?fieldManager=m&force=true", 400, applied, APPLY)
            self.assertEqual((await self.send("GET", url, 200)).json["spec"]["replicas"], 1)

    async def test_eviction(self) -> None:
        """A budget without a readable selector protects no pod."""
        for number, selector in enumerate(self.NONSENSE):
            spec = {"selector": selector}
            with without_rules():
                await self.send("POST", BUDGETS, 201, {"metadata": {"name": f"b{number}"}, "spec": spec})
        await self.send("POST", PODS, 201, {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": SPEC})
        status = {"metadata": {"name": "p"}, "status": {"phase": "Running"}}
        await self.send("PUT", f"{PODS}/p/status", 200, status)
        await self.send("POST", f"{PODS}/p/eviction", 201, {"metadata": {"name": "p"}})

    async def test_eviction_versions(self) -> None:
        """The version of an Eviction is its apiVersion; that an annotation names another one means nothing."""
        long = {"note": "x" * 5000}
        for meta, version in (
            ({"annotations": {"note": "policy/v1beta1"}}, "policy/v1"),
            ({"annotations": {"note": "policy/v1beta1"}}, ""),
            ({"annotations": long}, "policy/v1beta1"),
        ):
            await self.send("POST", PODS, 201, {"metadata": {"name": "p"}, "spec": SPEC})
            body = {"metadata": {"name": "p", **meta}, "kind": "Eviction", "apiVersion": version}
            await self.send("POST", f"{PODS}/p/eviction", 201, body)

    async def test_controller_labels(self) -> None:
        """A replication controller's selector is labels, even when they are called as parts of another selector."""
        labels = {"matchLabels": "x", "matchExpressions": "y"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body = {"metadata": {"name": "c"}, "spec": {"selector": labels, "template": template}}
        await self.send("POST", CONTROLLERS, 201, body)
        scale = (await self.send("GET", f"{CONTROLLERS}/c/scale", 200)).json
        self.assertEqual(scale["status"]["selector"], "matchExpressions=y,matchLabels=x")


class GraceTests(Case):
    """Grace periods longer than time."""

    LONGEST = 2**63 - 1

    async def test_deletion(self) -> None:
        """A pod's end is as far away as Go's durations reach, 292 years; its namespace can be deleted."""
        spec = {**SPEC, "nodeName": "n", "terminationGracePeriodSeconds": self.LONGEST}
        for name, query in (("a", ""), ("b", f"?gracePeriodSeconds={self.LONGEST}")):
            await self.send("POST", PODS, 201, {"metadata": {"name": name}, "spec": spec})
            meta = (await self.send("DELETE", f"{PODS}/{name}{query}", 200)).json["metadata"]
            self.assertEqual(meta["deletionGracePeriodSeconds"], self.LONGEST)
            self.assertLess(meta["deletionTimestamp"], "2400")
            await self.send("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0", 200)
            await self.send("GET", f"{PODS}/{name}", 404)


class AutoscalerTests(Case):
    """The kind with four versions."""

    SPEC = {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}

    async def test_table(self) -> None:
        """A Table of those that have managed fields shows rows in every version."""
        await self.send("POST", AUTOSCALERS.format("v1"), 201, {"metadata": {"name": "a"}, "spec": self.SPEC})
        for version in ("v1", "v2", "v2beta1", "v2beta2"):
            for url in (AUTOSCALERS.format(version), AUTOSCALERS.format(version) + "/a"):
                rows = (await self.send("GET", url, 200, headers=TABLE)).json["rows"]
                self.assertEqual([row["cells"][:2] for row in rows], [["a", "Deployment/d"]], url)

    async def test_apply(self) -> None:
        """One manager may apply through one version and then another, and give up what it owned
        (reference APPLY-15).
        """
        metric = {"type": "Resource", "resource": {"name": "cpu"}}
        wanted: tuple[dict[str, Any], ...] = (
            {**self.SPEC, "metrics": [metric]}, self.SPEC, {"metrics": [{"type": "Pods"}]}, {}, {"minReplicas": 2},
        )  # fmt: skip
        versions = ("v2", "v2beta1", "v2beta2", "v1")
        for first in versions:
            for second in versions:
                name = f"{first}-{second}"
                for number, spec in enumerate(wanted):
                    with without_rules():
                        await self.apply(second if number % 2 else first, name, spec)

    async def apply(self, version: str, name: str, spec: dict[str, Any]) -> None:
        """Apply a spec through a version."""
        if version == "v1":
            spec = {key: value for key, value in spec.items() if key != "metrics"}
        body = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "spec": spec}
        body["metadata"] = {"name": name}
        url = f"{AUTOSCALERS.format(version)}/{name}?fieldManager=m&force=true"
        answer = await self.server.request("PATCH", url, body, APPLY)
        self.assertIn(answer.code, (200, 201), answer.body)


class EventApplyTests(Case):
    """The kind that two groups serve."""

    async def test_apply(self) -> None:
        """The same for events, which have other names in each group."""
        paths = {"v1": "/api/v1", "events.orch.io/v1beta1": "/apis/events.orch.io/v1beta1"}
        versions = [*paths, *paths, *reversed(paths)]
        for number, version in enumerate(versions):
            note = {} if number % 2 else {"reason": f"r{number}"}
            body = {"apiVersion": version, "kind": "Event", "metadata": {"name": "e"}, **note}
            url = f"{paths[version]}/namespaces/default/events/e?fieldManager=m&force=true"
            answer = await self.server.request("PATCH", url, body, APPLY)
            self.assertIn(answer.code, (200, 201), answer.body)


class NumberTests(Case):
    """Numbers that no field holds."""

    async def test_port(self) -> None:
        """A port of 31 digits is a 400, in JSON and in YAML (the key of a list's item is made of it)."""
        for port in (b"1" * 31, b"1" * 5000, b"1e30", b"9223372036854775808"):
            spec = b'{"containers":[{"name":"c","ports":[{"containerPort":%b}]}]}' % port
            for start in (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":%b}', b"apiVersion: v1\n"
                          b"kind: Pod\nmetadata: {name: p}\nspec: %b\n"):  # fmt: skip
                await self.send("PATCH", f"{PODS}/p?fieldManager=m", 400, start % spec, APPLY)
