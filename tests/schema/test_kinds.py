"""Kinds by group and kind."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.kinds import GroupKind


class GroupKindTests(SynchronousTestCase):
    """Keys made by `GroupKind`."""

    def test_same_in_every_vocabulary(self) -> None:
        """A built-in kind is the same value whatever names the server speaks."""
        kinds = [
            {GroupKind.of(each.group, each.kind, naming) for each in Catalogue.load(naming).resources}
            for naming in (Naming.orch(), Naming.kubernetes())
        ]
        self.assertEqual(*kinds)
        self.assertIn(GroupKind("rbac.authorization.orch.io", "Role"), kinds[0])

    def test_first_word_says_nothing(self) -> None:
        """Groups that begin alike are different ones."""
        for naming in (Naming.orch(), Naming.kubernetes()):
            self.assertEqual(GroupKind.of("batch.volcano.sh", "Job", naming), GroupKind("batch.volcano.sh", "Job"))

    def test_group_with_a_name_of_the_other_vocabulary(self) -> None:
        """A custom resource's group is not a built-in one, though the other vocabulary calls one so."""
        built_in = GroupKind("coordination.orch.io", "Lease")
        for naming, own, foreign in [
            (Naming.orch(), "coordination.orch.io", "coordination.k8s.io"),
            (Naming.kubernetes(), "coordination.k8s.io", "coordination.orch.io"),
        ]:
            self.assertEqual(GroupKind.of(own, "Lease", naming), built_in)
            self.assertNotEqual(GroupKind.of(foreign, "Lease", naming), built_in)
