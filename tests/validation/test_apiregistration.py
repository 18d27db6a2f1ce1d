"""Rules of APIServices (reference KIND-34)."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

V1 = "apiregistration.orch.io/v1"
SERVICES = f"/apis/{V1}/apiservices"
SERVICE = {
    "apiVersion": V1,
    "kind": "APIService",
    "metadata": {"name": "v1.example.com"},
    "spec": {
        "group": "example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "service": {"name": "s", "namespace": "n"},
    },
}
LOCAL = {"spec.service": GONE}


class ApiregistrationTests(case.EntryCase):
    """On a server that says nothing of its own in the status of what clients make."""

    more = {"bootstrap": False}
    file = "apiregistration.json"
    bases = {"APIService": Base(path=SERVICES, obj=SERVICE)}
    examples = {
        0: Refused(change={"metadata.name": "v1/x", "spec.group": "x"}),
        1: (
            Refused(
                change={"metadata.name": "v1.other"},
                detail='must be `spec.version\\+"\\."\\+spec.group`: "v1.example.com"',
            ),
            Refused(change={"metadata.name": "v1.core", "spec.group": GONE}, detail='"v1."'),
            Accepted(change={"metadata.name": "v1.", "spec.group": GONE}),
        ),
        2: Refused(change={"metadata.name": "v2.", "spec.version": "v2", "spec.group": ""}),
        3: Refused(change={"metadata.name": "v1.A", "spec.group": "A"}),
        4: Refused(change={"metadata.name": "1.example.com", "spec.version": "1"}),
        5: (
            Refused(change={"spec.groupPriorityMinimum": 0}),
            Refused(change={"spec.groupPriorityMinimum": 20001}, accepts={"spec.groupPriorityMinimum": 20000}),
        ),
        6: (
            Refused(change={"spec.versionPriority": 0}),
            Refused(on="update", change={"spec.versionPriority": 1001}, accepts={"spec.versionPriority": 1000}),
        ),
        7: Refused(
            change={**LOCAL, "spec.caBundle": "YWI="},
            accepts=LOCAL,
            detail='"2 bytes": local APIServices may not have a caBundle',
        ),
        8: Refused(
            change={**LOCAL, "spec.insecureSkipTLSVerify": True}, accepts={"spec.insecureSkipTLSVerify": True}
        ),
        9: Refused(change={"spec.service.namespace": ""}),
        10: Refused(change={"spec.service.name": ""}),
        11: (
            Refused(change={"spec.service.port": 0}, accepts={"spec.service.port": 1}),
            Stored(expected={"spec.service.port": 443}),
        ),
        12: Refused(
            change={"spec.insecureSkipTLSVerify": True, "spec.caBundle": "YWI="}, accepts={"spec.caBundle": "YWI="}
        ),
        13: (
            Refused(change={"spec.version": "v2"}, field="metadata.name"),
            Accepted(change={"spec.versionPriority": 11, "spec.service.name": "t"}),
        ),
        14: Refused(
            change={"status.conditions": [{"type": "A", "status": "Maybe"}]},
            accepts={"status.conditions": [{"type": "A", "status": "Unknown"}]},
            detail='supported values: "False", "True", "Unknown"',
        ),
        15: (
            Stored(change={"status.conditions": [{"type": "A", "status": "True"}]}, expected={"status": {}}),
            Stored(
                change=LOCAL,
                expected={
                    "status.conditions[0].type": "Available",
                    "status.conditions[0].status": "True",
                    "status.conditions[0].reason": "Local",
                    "status.conditions[1]": GONE,
                },
            ),
            Shown(f"{__name__}.ApiregistrationTests.test_available_since"),
        ),
        16: Stored(change={"status.conditions": [{"type": "A", "status": "True"}]}, expected={"status": {}}),
        17: Stored(
            change={
                "spec.versionPriority": 11,
                "metadata.labels": {"a": "b"},
                "metadata.annotations": {"a": "b"},
                "metadata.finalizers": ["a"],
                "status.conditions": [{"type": "A", "status": "True"}],
            },
            expected={
                "spec.versionPriority": 10,
                "metadata.labels": GONE,
                "metadata.annotations": GONE,
                "metadata.finalizers": GONE,
                "status.conditions[0].type": "A",
            },
        ),
        18: Stored(expected={"metadata.generation": GONE}),
        19: Refused(change={"metadata.resourceVersion": GONE}, detail="must be specified for an update"),
    }

    def fresh_name(self, obj: Object) -> dict[str, object]:
        """The name says what is in the spec: each example has the object to itself."""
        self.send("DELETE", f"{SERVICES}/v1.example.com")
        self.send("DELETE", f"{SERVICES}/v1.")
        return {}

    def test_available_since(self) -> None:
        """A local one is available since its creation."""
        spec = {key: value for key, value in SERVICE["spec"].items() if key != "service"}  # type: ignore[attr-defined]
        made = self.done("POST", SERVICES, {**SERVICE, "spec": spec})
        (condition,) = made["status"]["conditions"]
        self.assertEqual(condition["lastTransitionTime"], made["metadata"]["creationTimestamp"])
        self.assertEqual(condition["message"], "Local APIServices are always available")
