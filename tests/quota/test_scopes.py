"""Scopes of quotas (reference PLUG-25)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.quota.scopes import Requirement, requirements_of, shown, traits
from orchtw.wire.objects import Object


def spec(requests: Object | None = None, **more: Any) -> Object:
    return {"containers": [{"name": "c", "resources": {"requests": requests or {}}}], **more}


TERM = {"topologyKey": "zone"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PLAIN = spec()
BURSTABLE = spec({"cpu": "1"})
ENDING = spec(activeDeadlineSeconds=5)
HIGH = spec(priorityClassName="high")
ELSEWHERE = spec(affinity={"podAffinity": {REQUIRED: [{**TERM, "namespaces": ["a"]}]}})
ANYWHERE = spec(
    affinity={"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {**TERM, "namespaceSelector": {}}}]}}
)
HERE = spec(affinity={"podAffinity": {REQUIRED: [TERM]}, "podAntiAffinity": {REQUIRED: [TERM]}})

ROWS: list[tuple[Requirement, Object, bool]] = [
    (Requirement("Terminating"), PLAIN, False),
    (Requirement("Terminating"), ENDING, True),
    (Requirement("Terminating"), spec(activeDeadlineSeconds=0), True),
    (Requirement("NotTerminating"), PLAIN, True),
    (Requirement("NotTerminating"), ENDING, False),
    (Requirement("BestEffort"), PLAIN, True),
    (Requirement("BestEffort"), spec({"cpu": "0"}), True),
    (Requirement("BestEffort"), spec({"example.com/gpu": "1"}), True),
    (Requirement("BestEffort"), BURSTABLE, False),
    (Requirement("BestEffort"), {**PLAIN, "initContainers": BURSTABLE["containers"]}, False),
    (Requirement("BestEffort"), {"containers": [{"resources": {"limits": {"memory": "1"}}}]}, False),
    (Requirement("NotBestEffort"), PLAIN, False),
    (Requirement("NotBestEffort"), BURSTABLE, True),
    (Requirement("PriorityClass"), HIGH, True),
    (Requirement("PriorityClass"), PLAIN, False),
    (Requirement("PriorityClass", "In", ("high", "low")), HIGH, True),
    (Requirement("PriorityClass", "In", ("low",)), HIGH, False),
    (Requirement("PriorityClass", "In", ("low",)), PLAIN, False),
    (Requirement("PriorityClass", "NotIn", ("low",)), HIGH, True),
    (Requirement("PriorityClass", "NotIn", ("high",)), HIGH, False),
    (Requirement("PriorityClass", "NotIn", ("high",)), PLAIN, True),
    (Requirement("PriorityClass", "DoesNotExist"), PLAIN, True),
    (Requirement("PriorityClass", "DoesNotExist"), HIGH, False),
    (Requirement("CrossNamespacePodAffinity"), PLAIN, False),
    (Requirement("CrossNamespacePodAffinity"), HERE, False),
    (Requirement("CrossNamespacePodAffinity"), ELSEWHERE, True),
    (Requirement("CrossNamespacePodAffinity"), ANYWHERE, True),
    (Requirement("Unheard"), PLAIN, False),
]


class ScopeTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """Each scope has the pods that it says, and no others."""
        for requirement, pod, expected in ROWS:
            self.assertEqual(requirement.matches(traits(pod)), expected, f"{requirement} of {pod}")

    def test_others(self) -> None:
        """An object other than a pod matches no scope."""
        for requirement, _, _ in ROWS:
            self.assertFalse(requirement.matches(None))

    def test_of_spec(self) -> None:
        """Plain scopes and the terms of the selector all count."""
        term = {"scopeName": "PriorityClass", "operator": "In", "values": ["a", "b"]}
        found = requirements_of({"scopes": ["BestEffort"], "scopeSelector": {"matchExpressions": [term]}})
        self.assertEqual(found, (Requirement("BestEffort"), Requirement("PriorityClass", "In", ("a", "b"))))
        self.assertEqual(requirements_of({}), ())

    def test_shown(self) -> None:
        """Refusals show name, operator and values."""
        found = [Requirement("PriorityClass", "In", ("a", "b")), Requirement("PriorityClass")]
        self.assertEqual(shown(found), "[{PriorityClass In [a b]} {PriorityClass Exists []}]")
