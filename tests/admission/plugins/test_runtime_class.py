"""RuntimeClass (reference PLUG-15, PLUG-80)."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.admission.plugins.served import PluginCase, pod

CLASSES = "/apis/node.orch.io/v1/runtimeclasses"
OVERHEAD = {"podFixed": {"cpu": "100m", "memory": "64Mi"}}
GPU = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
SMALL = {"key": "gpu", "operator": "Equal", "value": "small", "effect": "NoSchedule"}
SCHEDULING = {"nodeSelector": {"disk": "ssd", "zone": "a"}, "tolerations": [GPU]}

CHANGED: list[tuple[str, Object, Object, Object]] = [
    ("no class, nothing", {}, {}, {}),
    ("a class that says nothing", {}, {"runtimeClassName": "c"}, {}),
    ("overhead", {"overhead": OVERHEAD}, {"runtimeClassName": "c"}, {"overhead": OVERHEAD["podFixed"]}),
    (
        "the same overhead, in other words",
        {"overhead": OVERHEAD},
        {"runtimeClassName": "c", "overhead": {"cpu": "0.1", "memory": "67108864"}},
        {"overhead": {"cpu": "100m", "memory": "67108864"}},
    ),
    ("no amounts", {"overhead": {}}, {"runtimeClassName": "c"}, {}),
    (
        "nodes of the class",
        {"scheduling": SCHEDULING},
        {"runtimeClassName": "c"},
        {"nodeSelector": SCHEDULING["nodeSelector"], "tolerations": [GPU]},
    ),
    (
        "nodes of both",
        {"scheduling": SCHEDULING},
        {"runtimeClassName": "c", "nodeSelector": {"a": "b", "zone": "a"}},
        {"nodeSelector": {"a": "b", "disk": "ssd", "zone": "a"}, "tolerations": [GPU]},
    ),
    (
        "a toleration that that of the class covers",
        {"scheduling": {"tolerations": [GPU]}},
        {"runtimeClassName": "c", "tolerations": [SMALL, {"key": "b", "operator": "Exists"}]},
        {"tolerations": [{"key": "b", "operator": "Exists"}, GPU]},
    ),
]

NO_MATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
NO_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
REFUSED: list[tuple[Object, Object, str]] = [
    ({}, {"runtimeClassName": "nope"}, 'pod rejected: RuntimeClass "nope" not found'),
    ({"overhead": OVERHEAD}, {"runtimeClassName": "c", "overhead": {"cpu": "100m"}}, NO_MATCH),
    ({"overhead": OVERHEAD}, {"runtimeClassName": "c", "overhead": {"cpu": "1", "memory": "64Mi"}}, NO_MATCH),
    ({}, {"runtimeClassName": "c", "overhead": {"cpu": "100m"}}, NO_OVERHEAD),
    ({}, {"overhead": {"cpu": "100m"}}, NO_OVERHEAD),
    (
        {"scheduling": SCHEDULING},
        {"runtimeClassName": "c", "nodeSelector": {"disk": "hdd"}},
        "conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = hdd",
    ),
    (
        {"scheduling": SCHEDULING},
        {"runtimeClassName": "c", "tolerations": [{"key": f"k{n}", "operator": "Exists"} for n in range(1000)]},
        "pod rejected: at most 1000 tolerations can be merged, not 1001",
    ),
]


class RuntimeClassTests(PluginCase):
    """The plugin in a whole server."""

    name = "RuntimeClass"

    def runtime_class(self, more: Object) -> None:
        self.send("DELETE", f"{CLASSES}/c")
        self.done("POST", CLASSES, {"metadata": {"name": "c"}, "handler": "runsc", **more})

    def test_changed(self) -> None:
        """A pod gets the overhead, nodes and tolerations of its class."""
        for what, more, spec, expected in CHANGED:
            self.runtime_class(more)
            made = self.done("POST", "pods?dryRun=All", pod(**spec))["spec"]
            found = {key: made[key] for key in ("nodeSelector", "tolerations", "overhead") if key in made}
            self.assertEqual(found, expected, what)

    def test_refused(self) -> None:
        """It must not say anything else, and the class must be there."""
        for more, spec, why in REFUSED:
            self.runtime_class(more)
            answer = self.send("POST", "pods", pod(**spec))
            self.assertEqual(answer.code, 403, answer.body)
            self.assertEqual(answer.json["message"], f'pods "p" is forbidden: {why}')

    def test_order_of_keys(self) -> None:
        """Filled-in fields stand where sent ones would."""
        self.runtime_class({"overhead": OVERHEAD, "scheduling": SCHEDULING})
        more: Object = {"hostname": "h", "topologySpreadConstraints": [], "os": {"name": "linux"}}
        more["runtimeClassName"] = "c"
        filled = self.done("POST", "pods?dryRun=All", pod(**more))["spec"]
        sent: Object = {"overhead": OVERHEAD["podFixed"], **SCHEDULING}
        given = self.done("POST", "pods?dryRun=All", pod(**more, **sent))["spec"]
        self.assertEqual((list(filled), filled), (list(given), given))

    def test_classes(self) -> None:
        """RuntimeClasses are validated, and their handler is immutable."""
        bad = {"key": "gpu", "operator": "Exists", "value": "x"}
        for more, why in (
            ({"handler": "A_"}, "handler: Invalid value"),
            ({"handler": ""}, "handler: "),
            ({"overhead": {"podFixed": {"cpu": "-1"}}}, "overhead.limits[cpu]: Invalid value"),
            ({"scheduling": {"nodeSelector": {"-": "a"}}}, "scheduling.nodeSelector: Invalid value"),
            ({"scheduling": {"nodeSelector": {"a": "-"}}}, "scheduling.nodeSelector: Invalid value"),
            ({"scheduling": {"tolerations": [bad]}}, "scheduling.tolerations.tolerations[0].operator: Invalid value"),
            ({"scheduling": {"tolerations": [GPU, GPU]}}, "scheduling.tolerations[1]: Duplicate value"),
        ):
            answer = self.send("POST", CLASSES, {"metadata": {"name": "x"}, "handler": "runsc", **more})
            self.assertEqual((answer.code, why in answer.json["message"]), (422, True), answer.body)
        self.runtime_class({})
        answer = self.send("PUT", f"{CLASSES}/c", {"metadata": {"name": "c"}, "handler": "other"})
        self.assertEqual(answer.code, 422, answer.body)

    def test_later_changes(self) -> None:
        """The class is asked on creation only, and as it is then."""
        self.runtime_class({"overhead": OVERHEAD})
        made = self.done("POST", "pods", pod(runtimeClassName="c"))
        self.runtime_class({"overhead": {"podFixed": {"cpu": "1"}}})
        again = self.done("PUT", "pods/p", {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}})
        self.assertEqual(again["spec"]["overhead"], OVERHEAD["podFixed"])
        second = {**pod(runtimeClassName="c"), "metadata": {"name": "q"}}
        self.assertEqual(self.done("POST", "pods", second)["spec"]["overhead"], {"cpu": "1"})
