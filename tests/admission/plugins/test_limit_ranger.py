"""LimitRanger (reference PLUG-32 to PLUG-34, PLUG-62)."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.admission.plugins.resource_quota.case import CLAIMS, PODS, claim
from tests.verbs.served import DEFAULT, MERGE, ServedCase

RANGES = f"{DEFAULT}/limitranges"
ANNOTATION = "orch.io/limit-ranger"


def pod(name: str, **resources: Object) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}


class LimitRangerTests(ServedCase):
    """The plugin in a whole server."""

    def limit_range(self, *items: Object, name: str = "lr") -> None:
        self.done("POST", RANGES, {"metadata": {"name": name}, "spec": {"limits": list(items)}})

    def resources(self, made: Object) -> Any:
        return made["spec"]["containers"][0]["resources"]

    def refusal(self, path: str, obj: Object) -> str:
        answer = self.send("POST", path, obj)
        self.assertEqual(answer.code, 403, answer.body)
        message: str = answer.json["message"]
        return message

    def test_defaults(self) -> None:
        """A pod gets what it does not say, with a note; what follows from it, such as its class, follows."""
        self.limit_range({"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}, "min": {"cpu": "100m"}})
        made = self.done("POST", PODS, pod("a"))
        self.assertEqual(self.resources(made), {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}})
        note = "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
        self.assertEqual(made["metadata"]["annotations"], {ANNOTATION: note})
        self.assertEqual(made["status"]["qosClass"], "Burstable")

    def test_limits_are_requests(self) -> None:
        """A container that says its limit alone asks for as much, before there are defaults."""
        self.limit_range({"type": "Container", "defaultRequest": {"cpu": "1"}})
        made = self.done("POST", PODS, pod("a", limits={"cpu": "2"}))
        self.assertEqual(self.resources(made), {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}})
        self.assertNotIn("annotations", made["metadata"])

    def test_order_of_keys(self) -> None:
        """Filled-in fields stand where sent ones would."""
        self.limit_range({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}})
        first = pod("a")
        first["metadata"].update(labels={"a": "b"}, annotations={"z": "z", "a": "a"})
        given = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
        found, expected = self.done("POST", PODS, first), self.done("POST", PODS, pod("b", **given))
        self.assertEqual(list(found["spec"]["containers"][0]), list(expected["spec"]["containers"][0]))
        self.assertEqual(list(found["metadata"]["annotations"]), ["a", ANNOTATION, "z"])
        keys = [key for key in found["metadata"] if key not in ("labels", "annotations")]
        self.assertEqual(keys, list(expected["metadata"]))

    def test_several_ranges(self) -> None:
        """Limit ranges are obeyed in the order of their names; the first that is broken refuses."""
        self.limit_range({"type": "Container", "default": {"cpu": "1"}}, name="b")
        self.limit_range({"type": "Container", "default": {"cpu": "2"}}, name="a")
        made = self.done("POST", PODS, pod("a"))
        self.assertEqual(self.resources(made)["limits"], {"cpu": "2"})
        self.limit_range({"type": "Container", "max": {"cpu": "1"}}, name="c")
        self.limit_range({"type": "Pod", "max": {"cpu": "1"}}, name="d")
        expected = 'pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
        self.assertEqual(self.refusal(PODS, pod("b")), expected)

    def test_refused(self) -> None:
        """All that is wrong with a pod is told at once."""
        items = ({"type": "Container", "max": {"cpu": "1"}}, {"type": "Pod", "max": {"memory": "2Gi"}})
        self.limit_range(*items)
        self.assertEqual(
            self.refusal(PODS, pod("a", limits={"cpu": "2"})),
            'pods "a" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, '
            "maximum memory usage per Pod is 2Gi.  No limit is specified]",
        )

    def test_dry_run(self) -> None:
        """A dry run gets the same, and is refused the same."""
        self.limit_range({"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "1"}})
        self.assertEqual(self.resources(self.done("POST", f"{PODS}?dryRun=All", pod("a")))["limits"], {"cpu": "1"})
        self.assertIn("maximum cpu", self.refusal(f"{PODS}?dryRun=All", pod("a", limits={"cpu": "2"})))

    def test_updates(self) -> None:
        """Pods are not looked at again; claims are, unless they are being deleted."""
        self.done("POST", PODS, pod("a"))
        self.done("POST", CLAIMS, claim("a", "5Gi"))
        self.done("POST", CLAIMS, {**claim("b", "5Gi"), "metadata": {"name": "b", "finalizers": ["a.b/c"]}})
        self.limit_range(
            {"type": "Container", "max": {"cpu": "1"}}, {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}
        )
        change = {"metadata": {"labels": {"a": "b"}}}
        self.done("PATCH", f"{PODS}/a", change, MERGE)
        answer = self.send("PATCH", f"{CLAIMS}/a", change, MERGE)
        self.assertEqual(
            answer.json["message"],
            'persistentvolumeclaims "a" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but '
            "request is 5Gi",
        )
        self.done("DELETE", f"{CLAIMS}/b")
        self.done("PATCH", f"{CLAIMS}/b", change, MERGE)
        self.done("PATCH", f"{CLAIMS}/a/status", {"status": {"phase": "Bound"}}, MERGE)

    def test_claims(self) -> None:
        """Claims are held against what they ask for."""
        self.limit_range({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}})
        self.done("POST", CLAIMS, claim("a", "2Gi"))
        self.assertIn("minimum storage usage per PersistentVolumeClaim is 1Gi", self.refusal(CLAIMS, claim("b", "1")))

    def test_changes(self) -> None:
        """A limit range counts as it is, and no more when it is gone."""
        self.limit_range({"type": "Container", "max": {"cpu": "1"}})
        self.assertIn("maximum cpu", self.refusal(PODS, pod("a", limits={"cpu": "2"})))
        more = {"spec": {"limits": [{"type": "Container", "max": {"cpu": "3"}}]}}
        self.done("PATCH", f"{RANGES}/lr", more, MERGE)
        self.done("POST", PODS, pod("a", limits={"cpu": "2"}))
        self.assertIn("maximum cpu", self.refusal(PODS, pod("b", limits={"cpu": "4"})))
        self.done("DELETE", f"{RANGES}/lr")
        self.done("POST", PODS, pod("b", limits={"cpu": "4"}))

    def test_namespaces(self) -> None:
        """A limit range is one of its namespace."""
        self.limit_range({"type": "Container", "max": {"cpu": "1"}})
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        self.done("POST", "/api/v1/namespaces/other/pods", pod("a"))

    def test_large(self) -> None:
        """A pod of thousands of containers gets its defaults too."""
        self.limit_range({"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "1"}})
        large = pod("a")
        large["spec"]["containers"] = [{"name": f"c{i}", "image": "i", "resources": {}} for i in range(4000)]
        answer = self.send("POST", f"{PODS}?dryRun=All", large)
        self.assertEqual(answer.code, 201, answer.body[:500])
        self.assertEqual(answer.json["spec"]["containers"][-1]["resources"]["limits"], {"cpu": "1"})
