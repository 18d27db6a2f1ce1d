"""Priority classes (reference PLUG-14, KIND-34)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import Accepted, Base, Refused, Shown, Stored

V1 = "scheduling.orch.io/v1"
CLASSES = f"/apis/{V1}/priorityclasses"
CLASS = {"apiVersion": V1, "kind": "PriorityClass", "metadata": {"name": "a"}, "value": 1000}


class SchedulingTests(case.EntryCase):
    file = "scheduling.json"
    bases = {"PriorityClass": Base(path=CLASSES, obj=CLASS)}
    examples = {
        0: (
            Refused(
                change={"metadata.name": "system-mine"}, detail="system-mine is not a known system priority class"
            ),
            Shown("tests.registry.groups.test_validation.PriorityClassTests.test_system_names"),
        ),
        1: Refused(change={"value": 1_000_000_001}, accepts={"value": 1_000_000_000}),
        2: (
            Refused(
                change={"preemptionPolicy": "Maybe"},
                accepts={"preemptionPolicy": "Never"},
                detail='supported values: "PreemptLowerPriority", "Never"',
            ),
            Stored(expected={"preemptionPolicy": "PreemptLowerPriority"}),
        ),
        3: Refused(change={"preemptionPolicy": ""}),
        4: Refused(change={"value": 1001}),
        5: Refused(change={"preemptionPolicy": "Never"}),
        6: Accepted(change={"globalDefault": True, "description": "any text"}),
        7: Shown("tests.admission.plugins.test_priority.PriorityTests.test_one_default_class"),
        8: (
            Stored(change={"metadata.generation": 3}, expected={"metadata.generation": 1}),
            Stored(on="update", change={"description": "new"}, expected={"metadata.generation": 1}),
        ),
    }
