"""Names of resources (reference KIND-72)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.rules.resource_names import (
    container_resource_name,
    is_counted,
    is_extended,
    may_overcommit,
    quota_resource_name,
    resource_name,
)

ORCH = Naming.orch()


class ResourceNameTests(SynchronousTestCase):
    def test_any(self) -> None:
        """Without a domain it is one that the release knows; with one it is anybody's."""
        for name in ("cpu", "storage", "requests.storage", "hugepages-2Mi", "requests.hugepages-1Gi", "a.b/c"):
            self.assertEqual(resource_name(name), (), name)
        self.assertEqual(resource_name("other"), ("must be a standard resource type or fully qualified",))
        self.assertTrue(resource_name("a b")[0].startswith("name part must consist"))

    def test_container(self) -> None:
        """Containers ask for the machine's own, and for what others have added."""
        for name in ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu"):
            self.assertEqual(container_resource_name(name, ORCH), (), name)
        self.assertEqual(container_resource_name("pods", ORCH), ("must be a standard resource for containers",))
        text = "doesn't follow extended resource name standard"
        self.assertEqual(container_resource_name("requests.example.com/gpu", ORCH), (text,))

    def test_quota(self) -> None:
        """Quotas count objects, requests and limits."""
        for name in ("pods", "limits.cpu", "services.nodeports", "requests.hugepages-2Mi", "count/jobs.batch"):
            self.assertEqual(quota_resource_name(name), (), name)
        self.assertEqual(quota_resource_name("storage"), ("must be a standard resource for quota",))

    def test_extended(self) -> None:
        """An unknown domain's resource is extended: it has whole numbers and allows no overcommitment."""
        for naming, own in ((ORCH, "orch.io/batch-cpu"), (Naming.kubernetes(), "kubernetes.io/batch-cpu")):
            self.assertFalse(is_extended(own, naming))
            self.assertTrue(is_extended("example.com/gpu", naming))
            self.assertTrue(may_overcommit(own, naming))
        self.assertTrue(is_extended("orch.io/batch-cpu", Naming.kubernetes()))
        self.assertEqual([is_counted(name, ORCH) for name in ("pods", "cpu", "a.b/c")], [True, False, True])
        self.assertFalse(may_overcommit("hugepages-2Mi", ORCH))
