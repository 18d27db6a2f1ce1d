"""Progress of a namespace's deletion, as conditions (reference CTRL-11)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.interface import Resource
from orchtw.controllers.namespace_conditions import (
    CONTENT,
    DISCOVERY,
    FINALIZERS,
    PARSING,
    REMAINING,
    Progress,
    conditions,
)
from orchtw.naming.naming import Naming

PODS = Resource(group="", version="v1", plural="pods", kind="Pod", namespaced=True)
SETS = Resource(group="apps", version="v1", plural="replicasets", kind="ReplicaSet", namespaced=True)
ORDER = [DISCOVERY, PARSING, CONTENT, REMAINING, FINALIZERS]


class ProgressTests(SynchronousTestCase):
    def test_done(self) -> None:
        """All is done when nothing is left, nothing has failed and nothing may have been overlooked."""
        self.assertTrue(Progress().done)
        self.assertEqual(Progress().problems(), {})
        for progress in (
            Progress(remaining={PODS: 1}),
            Progress(failures=["no"]),
            Progress(discovery_failures={"apps/v1": "no"}),
        ):
            self.assertFalse(progress.done)
            self.assertEqual(len(progress.problems()), 1)

    def test_messages(self) -> None:
        """Each problem has its own count, in alphabetical order."""
        progress = Progress(
            discovery_failures={"b/v1": "no", "a/v1": "not now"},
            failures=["z", "y"],
            remaining={SETS: 2, PODS: 1},
            finalizers=Counter({"x/y": 2, "a/b": 1}),
        )
        self.assertEqual(
            progress.problems(),
            {
                DISCOVERY: (
                    "DiscoveryFailed",
                    "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server "
                    "APIs: a/v1: not now, b/v1: no",
                ),
                CONTENT: ("ContentDeletionFailed", "Failed to delete all resource types, 2 remaining: y, z"),
                REMAINING: (
                    "SomeResourcesRemain",
                    "Some resources are remaining: pods. has 1 resource instances, "
                    "replicasets.apps has 2 resource instances",
                ),
                FINALIZERS: (
                    "SomeFinalizersRemain",
                    "Some content in the namespace has finalizers remaining: a/b in 1 resource instances, "
                    "x/y in 2 resource instances",
                ),
            },
        )


class ConditionTests(SynchronousTestCase):
    def told(self, present: list[dict[str, Any]], problems: dict[str, tuple[str, str]], time: str) -> Any:
        """The conditions that follow; something has changed."""
        found = conditions(present, problems, time, "legacy types")
        assert found is not None
        return found

    def test_first(self) -> None:
        """The first write has all five conditions in order, also those without a problem."""
        found = self.told([], {REMAINING: ("SomeResourcesRemain", "two")}, "t1")
        self.assertEqual([each["type"] for each in found], ORDER)
        self.assertEqual({each["lastTransitionTime"] for each in found}, {"t1"})
        remaining = found[ORDER.index(REMAINING)]
        self.assertEqual((remaining["status"], remaining["reason"], remaining["message"]),
                         ("True", "SomeResourcesRemain", "two"))  # fmt: skip
        well = found[ORDER.index(PARSING)]
        self.assertEqual((well["status"], well["reason"]), ("False", "ParsedGroupVersions"))
        self.assertEqual(well["message"], "All legacy types successfully parsed")

    def test_types_without_a_group(self) -> None:
        """The conditions are named as in the vocabulary (reference CTRL-12)."""
        found = conditions([], {}, "t1", Naming.kubernetes().legacy_types)
        assert found is not None
        self.assertEqual(found[ORDER.index(PARSING)]["message"], "All legacy kube types successfully parsed")

    def test_nothing_new(self) -> None:
        """Conditions that already say all of it are not written again."""
        problems = {CONTENT: ("ContentDeletionFailed", "no")}
        self.assertIsNone(conditions(self.told([], problems, "t1"), problems, "t2", "legacy types"))

    def test_transition(self) -> None:
        """A status that changes has the new time; a message alone keeps the old one."""
        first = self.told([], {REMAINING: ("SomeResourcesRemain", "two")}, "t1")
        second = self.told(first, {REMAINING: ("SomeResourcesRemain", "one")}, "t2")
        third = self.told(second, {}, "t3")
        place = ORDER.index(REMAINING)
        self.assertEqual((second[place]["message"], second[place]["lastTransitionTime"]), ("one", "t1"))
        self.assertEqual((third[place]["reason"], third[place]["lastTransitionTime"]), ("ContentRemoved", "t3"))
        self.assertEqual(third[ORDER.index(CONTENT)]["lastTransitionTime"], "t1")

    def test_conditions_of_others(self) -> None:
        """Conditions of other types stay where they are."""
        other = {"type": "Mine", "status": "Unknown"}
        found = self.told([other], {}, "t1")
        self.assertEqual((found[0], len(found)), (other, 6))
