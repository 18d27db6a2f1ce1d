"""Names of stored resources in the metrics of the store."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.storage.metrics import resource_of


class ResourceTests(SynchronousTestCase):
    """Prefixes of the store, as the label `resource` shows them (METRIC-5)."""

    def test_names(self) -> None:
        """The core group has no name; groups have those of the vocabulary, and keep their own names if defined."""
        prefixes = ["pods", "apps/deployments", "rbac.authorization.orch.io/roles", "example.com/widgets"]
        names = {
            vocabulary: [resource_of(f"/registry/{each}/", naming) for each in prefixes]
            for vocabulary, naming in (("orch", Naming.orch()), ("kubernetes", Naming.kubernetes()))
        }
        own = ["pods", "deployments.apps", "roles.rbac.authorization.orch.io", "widgets.example.com"]
        self.assertEqual(names["orch"], own)
        self.assertEqual(names["kubernetes"], [each.replace("orch.io", "k8s.io") for each in own])
