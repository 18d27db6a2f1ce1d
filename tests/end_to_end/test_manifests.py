"""Manifests of the kind that people keep, applied with `kubectl`: all of them, twice, on either side.

`kubectl` takes folders by name: `monitoring` names a node port, so those that are picked at random come after it.
"""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import TestCase

from orchtw.testing.kubectl import Kubectl
from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import NO_KUBECTL
from tests.forked import forking

# What kubectl sends again each time, to any server: lists that merge as a whole and that the server has completed
# (claim templates, rules of webhooks, metrics, subsets, tolerations), fields that are only written, selectors that
# are replaced.
SENT_AGAIN = frozenset(
    {
        "pod/debug",
        "statefulset.apps/postgres",
        "statefulset.apps/redis",
        "statefulset.apps/prometheus",
        "secret/postgres",
        "secret/storefront-secret",
        "secret/shop-tls",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/ingress-nginx-admission",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/policy-check",
        "endpoints/legacy-db",
        "horizontalpodautoscaler.autoscaling/storefront",
        "poddisruptionbudget.policy/storefront",
        "pod/scratch-user",
    }
)

MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"


class ManifestTests(TestCase):
    """Shops, databases, monitoring, runners, policies and drivers in `tests/manifests`."""

    timeout = 300
    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = ServerProcess(forking, self.mktemp(), "--vocabulary=kubernetes", "--allow-privileged")
        await self.server.start()
        self.addCleanup(self.server.terminate)
        self.kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp())

    async def apply(self, *flags: str) -> list[str]:
        """Return the line about each object."""
        result = await self.kubectl.run("apply", "-R", "-f", str(MANIFESTS), *flags)
        complaints = [line for line in result.errors.splitlines() if "deprecated" not in line]
        self.assertEqual((result.status, complaints), (0, []))
        return result.output.splitlines()

    async def test_client_side(self) -> None:
        """All are created, and the second apply changes nothing."""
        self.assertGreaterEqual(len([*MANIFESTS.rglob("*.yaml")]), 60)
        first = await self.apply()
        self.assertEqual([line for line in first if not line.endswith((" created", " configured"))], [])
        self.assertGreaterEqual(len(first), 60)
        before = await self.versions()
        again = {line.rpartition(" ")[0] for line in await self.apply() if not line.endswith(" unchanged")}
        self.assertEqual(again - SENT_AGAIN, set())
        self.assertEqual(await self.versions(), before)

    async def test_server_side(self) -> None:
        """The second apply writes nothing: every object keeps its version."""
        first = await self.apply("--server-side")
        self.assertEqual([line for line in first if not line.endswith(" serverside-applied")], [])
        before = await self.versions()
        await self.apply("--server-side")
        self.assertEqual(await self.versions(), before)

    async def versions(self) -> str:
        """Names and versions of what was applied."""
        shown = "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}"
        result = await self.kubectl.run("get", "-R", "-f", str(MANIFESTS), "-o", shown)
        self.assertEqual(result.status, 0, result.errors)
        return result.output
