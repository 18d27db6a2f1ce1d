"""Matching of writes to rules of webhooks (reference HOOK-3)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.webhooks.rules import rule_of
from tests.admission.asked import resource
from tests.admission.webhooks.hooks import rule

PODS = ("pods", "v1")
NODES = ("nodes", "v1")
NAMESPACES = ("namespaces", "v1")
DEPLOYMENTS = ("deployments", "apps/v1")

# Rule, operation, resource, sub-resource, whether it matches.
ROWS = (
    (rule("pods"), "CREATE", PODS, "", True),
    (rule("pods"), "CREATE", NODES, "", False),
    (rule("pods"), "UPDATE", PODS, "status", False),
    (rule("pods/status"), "UPDATE", PODS, "status", True),
    (rule("pods/status"), "UPDATE", PODS, "", False),
    (rule("pods/*"), "UPDATE", PODS, "status", True),
    (rule("pods/*"), "UPDATE", PODS, "", True),
    (rule("pods/*"), "UPDATE", DEPLOYMENTS, "status", False),
    (rule("*/status"), "UPDATE", DEPLOYMENTS, "status", True),
    (rule("*/status"), "UPDATE", DEPLOYMENTS, "scale", False),
    (rule("*/status"), "UPDATE", DEPLOYMENTS, "", False),
    (rule("*"), "UPDATE", DEPLOYMENTS, "", True),
    (rule("*"), "UPDATE", DEPLOYMENTS, "status", False),
    (rule("*/*"), "UPDATE", DEPLOYMENTS, "", True),
    (rule("*/*"), "UPDATE", DEPLOYMENTS, "scale", True),
    (rule("nodes", "pods/status"), "UPDATE", PODS, "status", True),
    (rule("pods", operations=("CREATE",)), "CREATE", PODS, "", True),
    (rule("pods", operations=("CREATE", "DELETE")), "UPDATE", PODS, "", False),
    (rule("pods/exec", operations=("CONNECT",)), "CONNECT", PODS, "exec", True),
    (rule("pods", apiGroups=[""]), "CREATE", PODS, "", True),
    (rule("pods", apiGroups=["apps"]), "CREATE", PODS, "", False),
    (rule("deployments", apiGroups=["extensions", "apps"]), "CREATE", DEPLOYMENTS, "", True),
    (rule("deployments", apiVersions=["v1beta1"]), "CREATE", DEPLOYMENTS, "", False),
    (rule("deployments", apiVersions=["v1beta1", "v1"]), "CREATE", DEPLOYMENTS, "", True),
    (rule("*", scope="*"), "CREATE", NODES, "", True),
    (rule("*", scope="Cluster"), "CREATE", NODES, "", True),
    (rule("*", scope="Cluster"), "CREATE", PODS, "", False),
    (rule("*", scope="Namespaced"), "CREATE", PODS, "", True),
    (rule("*", scope="Namespaced"), "CREATE", NODES, "", False),
    (rule("*", scope="Namespaced"), "CREATE", NAMESPACES, "", False),
    (rule("*", scope="Cluster"), "CREATE", NAMESPACES, "", True),
    (rule("*/*", scope="Namespaced"), "UPDATE", PODS, "status", True),
    (rule("*/*", scope="Cluster"), "UPDATE", PODS, "status", False),
    (rule(), "CREATE", PODS, "", False),
)


class RuleTests(SynchronousTestCase):
    def test_table(self) -> None:
        """Operation, group, version, resource, sub-resource and scope must all fit (reference HOOK-3, HOOK-31)."""
        for spec, operation, named, subresource, expected in ROWS:
            found = rule_of(spec).matches(operation, resource(*named), subresource)
            self.assertEqual(found, expected, (spec, operation, named, subresource))
