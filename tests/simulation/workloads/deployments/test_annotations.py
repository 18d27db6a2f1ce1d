"""Annotations of Deployments and their ReplicaSets."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.simulation.workloads.deployments.annotations import HISTORY_CHARACTERS, Annotations
from tests.simulation.workloads.deployments.objects import deployment, replica_set

KEPT = Annotations(Naming.kubernetes())
DOMAIN = "deployment.kubernetes.io"


class AnnotationTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The names are those of the vocabulary."""
        names = [KEPT.revision, KEPT.history, KEPT.desired, KEPT.most]
        self.assertEqual(names, [f"{DOMAIN}/{end}" for end in (
            "revision", "revision-history", "desired-replicas", "max-replicas",
        )])

    def test_copies(self) -> None:
        """A ReplicaSet gets the Deployment's annotations but those that each has of its own."""
        applied = "kubectl.kubernetes.io/last-applied-configuration"
        owner = deployment(1, annotations={applied: "{}", KEPT.revision: "7", "a": "b"})
        self.assertEqual(KEPT.copied(owner), {"a": "b"})
        self.assertEqual(KEPT.of_new_set(owner, None, 1), {
            "a": "b", KEPT.revision: "1", KEPT.desired: "1", KEPT.most: "2",
        })

    def test_revision(self) -> None:
        """A ReplicaSet that comes back gets the next number, and remembers the earlier ones."""
        found = replica_set("r1", 1, annotations={KEPT.revision: "3", KEPT.history: "1"})
        wanted = KEPT.of_new_set(deployment(1), found, 5)
        self.assertEqual((wanted[KEPT.revision], wanted[KEPT.history]), ("5", "1,3"))
        unchanged = KEPT.of_new_set(deployment(1), found, 2)
        self.assertEqual((unchanged[KEPT.revision], unchanged[KEPT.history]), ("3", "1"))

    def test_malformed(self) -> None:
        """A malformed revision stays as it is, and counts as none."""
        found = replica_set("r1", 1, annotations={KEPT.revision: "x"})
        self.assertEqual(KEPT.of_new_set(deployment(1), found, 5)[KEPT.revision], "x")
        self.assertEqual(KEPT.revision_of(found), 0)
        self.assertIsNone(KEPT.desired_of(found))

    def test_long_history(self) -> None:
        """The oldest revisions are forgotten when their list is too long."""
        history = ",".join(map(str, range(1000, 1500)))
        found = replica_set("r1", 1, annotations={KEPT.revision: "1500", KEPT.history: history})
        wanted = KEPT.of_new_set(deployment(1), found, 1501)[KEPT.history]
        self.assertLessEqual(len(wanted), HISTORY_CHARACTERS)
        self.assertTrue(wanted.endswith(",1499,1500"))
