"""Priority (reference PLUG-13, PLUG-14)."""

from __future__ import annotations

from typing import Any

from orchtw.admission.attributes import Attributes
from orchtw.admission.plugins.priority import Priority
from orchtw.wire.objects import Object
from tests.verbs.served import DEFAULT, ServedCase

CLASSES = "/apis/scheduling.orch.io/v1/priorityclasses"
PODS = f"{DEFAULT}/pods"


class PriorityCase(ServedCase):
    """Makes classes and pods."""

    def priority_class(self, name: str, value: int, **more: Any) -> Object:
        return self.done("POST", CLASSES, {"metadata": {"name": name}, "value": value, **more})

    def pod(self, name: str, **spec: Any) -> Object:
        return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}

    def priority_of(self, pod: Object) -> tuple[Any, Any, Any]:
        made = self.done("POST", PODS, pod)
        return tuple(made["spec"].get(key) for key in ("priorityClassName", "priority", "preemptionPolicy"))

    def refusal(self, pod: Object) -> str:
        answer = self.send("POST", PODS, pod)
        self.assertEqual(answer.code, 403)
        message: str = answer.json["message"]
        return message


class PriorityTests(PriorityCase):
    """The plugin in a whole server."""

    def test_class(self) -> None:
        """A pod gets value and policy of the class that it names, one of the system's too."""
        self.priority_class("high", 1000, preemptionPolicy="Never")
        self.assertEqual(self.priority_of(self.pod("a", priorityClassName="high")), ("high", 1000, "Never"))
        critical = self.pod("b", priorityClassName="system-node-critical")
        expected = ("system-node-critical", 2_000_001_000, "PreemptLowerPriority")
        self.assertEqual(self.priority_of(critical), expected)

    def test_order_of_keys(self) -> None:
        """Filled-in fields stand where sent ones would."""
        self.priority_class("high", 1000)
        self.done("POST", "/apis/node.orch.io/v1/runtimeclasses", {"metadata": {"name": "a"}, "handler": "a"})
        more = {"runtimeClassName": "a", "dnsConfig": {"searches": ["a.b"]}, "readinessGates": []}
        first = self.done("POST", PODS, self.pod("a", priorityClassName="high", os={"name": "linux"}, **more))
        given = {"priority": 1000, "preemptionPolicy": "PreemptLowerPriority", "priorityClassName": "high"}
        second = self.done("POST", PODS, self.pod("b", os={"name": "linux"}, **more, **given))
        self.assertEqual(list(first["spec"]), list(second["spec"]))
        self.assertEqual(first["spec"], second["spec"])

    def test_default(self) -> None:
        """One that names none gets those of the default class as it is then, or else 0."""
        self.assertEqual(self.priority_of(self.pod("a")), (None, 0, "PreemptLowerPriority"))
        self.priority_class("usual", 5, globalDefault=True)
        self.assertEqual(self.priority_of(self.pod("b")), ("usual", 5, "PreemptLowerPriority"))
        self.assertEqual(self.done("GET", f"{PODS}/a")["spec"]["priority"], 0)
        self.done("DELETE", f"{CLASSES}/usual")
        self.assertEqual(self.priority_of(self.pod("c")), (None, 0, "PreemptLowerPriority"))

    def test_no_class(self) -> None:
        """A class that is not there is a 403."""
        self.assertEqual(
            self.refusal(self.pod("a", priorityClassName="nope")),
            'pods "a" is forbidden: no PriorityClass with name nope was found',
        )

    def test_other_values(self) -> None:
        """A pod may say the values of its class, and no others."""
        self.priority_class("high", 1000)
        named = self.pod("a", priorityClassName="high", priority=1000, preemptionPolicy="PreemptLowerPriority")
        self.assertEqual(self.priority_of(named), ("high", 1000, "PreemptLowerPriority"))
        self.assertIn(
            "the integer value of priority (5) must not be provided in pod spec; priority admission controller "
            "computed 0 from the given PriorityClass name",
            self.refusal(self.pod("b", priority=5)),
        )
        self.assertIn(
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission "
            "controller computed PreemptLowerPriority from the given PriorityClass name",
            self.refusal(self.pod("c", preemptionPolicy="Never")),
        )

    def test_update(self) -> None:
        """An update that leaves priority and policy out keeps them, whatever has become of the class."""
        self.priority_class("high", 1000)
        made = self.done("POST", PODS, self.pod("a", priorityClassName="high"))
        self.done("DELETE", f"{CLASSES}/high")
        spec = {key: value for key, value in made["spec"].items() if key not in ("priority", "preemptionPolicy")}
        meta = {**made["metadata"], "labels": {"a": "b"}}
        after = self.done("PUT", f"{PODS}/a", {**made, "metadata": meta, "spec": spec})
        self.assertEqual((after["spec"]["priority"], after["metadata"]["labels"]), (1000, {"a": "b"}))

    def test_one_default_class(self) -> None:
        """There is one default at most; it may change itself."""
        first = self.priority_class("a", 1, globalDefault=True)
        second = self.priority_class("b", 2)
        text = "PriorityClass a is already marked as default. Only one default can exist"
        obj = {"metadata": {"name": "c"}, "value": 3, "globalDefault": True}
        for method, path, body in (
            ("POST", CLASSES, obj),
            ("PUT", f"{CLASSES}/b", {**second, "globalDefault": True}),
        ):
            answer = self.send(method, path, body)
            self.assertEqual((answer.code, text in answer.json["message"]), (403, True))
        self.done("PUT", f"{CLASSES}/a", {**first, "description": "usual"})
        self.done("PUT", f"{CLASSES}/a", {**self.done("GET", f"{CLASSES}/a"), "globalDefault": False})
        self.done("PUT", f"{CLASSES}/b", {**second, "globalDefault": True})


class ClassTests(PriorityCase):
    """Validation of priority classes (reference PLUG-14)."""

    def test_refused(self) -> None:
        """Values that are the system's, its prefix, and what is not a policy."""
        highest = "maximum allowed value of a user defined priority is 1000000000"
        reserved = "priority class names with 'system-' prefix are reserved for system use only. error: "
        for name, more, why in (
            ("a", {"value": 1_000_000_001}, f"value: Forbidden: {highest}"),
            ("a", {"value": 1, "preemptionPolicy": "Often"}, "preemptionPolicy: Unsupported value"),
            ("a", {"value": 1, "preemptionPolicy": ""}, "preemptionPolicy: Required value"),
            ("system-a", {"value": 1}, f"metadata.name: Forbidden: {reserved}system-a is not a known system"),
            ("A_", {"value": 1}, "metadata.name: Invalid value"),
        ):
            answer = self.send("POST", CLASSES, {"metadata": {"name": name}, **more})
            self.assertEqual((answer.code, why in answer.json["message"]), (422, True), answer.body)
        for value in (1_000_000_000, 0, -5):
            self.priority_class(f"v{abs(value)}", value)

    def test_system(self) -> None:
        """Those of the system come back as they were, and not otherwise."""
        self.done("DELETE", CLASSES)
        name = {"metadata": {"name": "system-cluster-critical"}}
        for more, why in (
            ({"value": 5}, "value of system-cluster-critical PriorityClass must be 2000000000"),
            (
                {"value": 2_000_000_000, "globalDefault": True},
                "globalDefault of system-cluster-critical PriorityClass must be false",
            ),
        ):
            answer = self.send("POST", CLASSES, {**name, **more})
            self.assertEqual((answer.code, why in answer.json["message"]), (422, True), answer.body)
        self.done("POST", CLASSES, {**name, "value": 2_000_000_000})

    def test_changes(self) -> None:
        """Value and policy stay as they are."""
        made = self.priority_class("a", 1)
        for more, why in (
            ({"value": 2}, "Value: Forbidden: may not be changed in an update."),
            ({"preemptionPolicy": "Never"}, "preemptionPolicy: Invalid value"),
        ):
            answer = self.send("PUT", f"{CLASSES}/a", {**made, **more})
            self.assertEqual((answer.code, why in answer.json["message"]), (422, True), answer.body)
        self.done("PUT", f"{CLASSES}/a", {**made, "description": "usual"})


class SeveralDefaultsTests(PriorityCase):
    """Servers that share a store may let in a default class each."""

    def setUp(self) -> None:
        async def let_in(plugin: Priority, attributes: Attributes) -> None: ...

        self.patch(Priority, "validate", let_in)
        super().setUp()

    def test_lowest_default(self) -> None:
        """Of several defaults the lowest counts."""
        for name, value in (("a", 7), ("b", 5), ("c", 9)):
            self.priority_class(name, value, globalDefault=True)
        self.assertEqual(self.priority_of(self.pod("p")), ("b", 5, "PreemptLowerPriority"))
