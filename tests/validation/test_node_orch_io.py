"""Runtime classes (reference KIND-34)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

V1 = "node.orch.io/v1"
CLASSES = f"/apis/{V1}/runtimeclasses"
CLASS = {"apiVersion": V1, "kind": "RuntimeClass", "metadata": {"name": "a"}, "handler": "runc"}
TOLERATION = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
TOLERATIONS, AMOUNTS, SELECTOR = "scheduling.tolerations", "overhead.podFixed", "scheduling.nodeSelector"


class NodeTests(case.EntryCase):
    file = "node.orch.io.json"
    bases = {"RuntimeClass": Base(path=CLASSES, obj=CLASS)}
    examples = {
        0: (Refused(change={"handler": ""}), Refused(change={"handler": "A"}), Refused(change={"handler": "a.b"})),
        1: (
            Refused(
                change={AMOUNTS: {"cpu": "-1"}},
                accepts={AMOUNTS: {"cpu": "250m", "memory": "120Mi"}},
                field="overhead.limits[cpu]",
                detail="must be greater than or equal to 0",
            ),
            Refused(change={AMOUNTS: {"a b": "1"}}, field="overhead.limits[a b]"),
        ),
        2: (
            Refused(change={SELECTOR: {"a b": "c"}}, accepts={SELECTOR: {"ex.io/a": "c"}}),
            Refused(change={SELECTOR: {"a": "b c"}}),
        ),
        3: (
            Shown(f"{__name__}.NodeTests.test_tolerations"),
            Refused(
                change={TOLERATIONS: [{**TOLERATION, "key": "a b"}]},
                accepts={TOLERATIONS: [TOLERATION]},
                field="scheduling.tolerations.tolerations[0].key",
            ),
        ),
        4: Refused(
            change={TOLERATIONS: [TOLERATION, {**TOLERATION, "effect": "NoExecute"}, TOLERATION]},
            accepts={TOLERATIONS: [TOLERATION, {**TOLERATION, "effect": "NoExecute"}]},
            field="scheduling.tolerations[2]",
        ),
        5: Refused(change={"handler": "other"}),
        6: Accepted(change={AMOUNTS: {"cpu": "1"}, SELECTOR: {"a": "b"}}),
        7: Refused(change={"metadata.resourceVersion": GONE}, detail="must be specified for an update"),
        8: Shown(f"{__name__}.NodeTests.test_create_by_update"),
        9: Stored(on="update", change={SELECTOR: {"a": "b"}}, expected={"metadata.generation": GONE}),
        10: Shown(f"{__name__}.NodeTests.test_deprecated_labels"),
    }

    def test_create_by_update(self) -> None:
        """A PUT of a name that is not there creates it."""
        self.assertEqual(self.code("PUT", f"{CLASSES}/new", {**CLASS, "metadata": {"name": "new"}}), 201)

    def test_tolerations(self) -> None:
        """Unknown operators and effects are refused as in pods, where the release says that they are."""
        odd = {**CLASS, "scheduling": {"tolerations": [{"key": "a", "operator": "Near", "effect": "Never"}]}}
        causes = self.send("POST", CLASSES, odd).json["details"]["causes"]
        path = "scheduling.tolerations.tolerations[0]"
        self.assertEqual({cause["field"] for cause in causes}, {f"{path}.operator", f"{path}.effect"})

    def test_deprecated_labels(self) -> None:
        """Labels of nodes that are deprecated are not warned of."""
        odd = {**CLASS, "scheduling": {"nodeSelector": {"beta.orch.io/os": "linux"}}}
        answer = self.send("POST", CLASSES, odd)
        self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))
