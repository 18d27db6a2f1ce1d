"""Server-side apply as `kubectl` does it, in both vocabularies (reference APPLY-18, CLIENT-4)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SkipTest

from orchtw.testing.kubectl import Result, minor_version
from tests.end_to_end.kubectl_case import KubectlCase

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: {replicas}
  selector:
    matchLabels: {{app: web}}
  template:
    metadata:
      labels: {{app: web}}
    spec:
      containers:
      - name: c
        image: {image}
"""


class KubectlApplyTests(KubectlCase):
    """`kubectl apply --server-side` and its neighbours."""

    async def apply(self, *flags: str, replicas: int = 2, image: str = "one") -> Result:
        """Apply the deployment on the server's side."""
        manifest = DEPLOYMENT.format(replicas=replicas, image=image)
        return await self.run_any("apply", "--server-side", *flags, "-f", "-", stdin=manifest)

    async def live(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(self.group("apps/v1", "deployments", "web"))).json
        return found

    async def test_apply_twice(self) -> None:
        """The first apply creates, the second changes nothing, not even the version."""
        self.assertEqual((await self.apply()).status, 0)
        before = await self.live()
        self.assertEqual((await self.apply()).status, 0)
        self.assertEqual(await self.live(), before)
        self.assertEqual(before["metadata"]["managedFields"][0]["manager"], "kubectl")

    async def test_conflict_and_force(self) -> None:
        """A field scaled by another manager is a conflict that names it, until it is forced."""
        await self.apply()
        await self.run_any("scale", "deployment", "web", "--replicas=5")
        refused = await self.apply(replicas=3)
        self.assertNotEqual(refused.status, 0)
        self.assertIn(".spec.replicas", refused.errors)
        self.assertEqual((await self.live())["spec"]["replicas"], 5)
        self.assertEqual((await self.apply("--force-conflicts", replicas=3)).status, 0)
        self.assertEqual((await self.live())["spec"]["replicas"], 3)
        self.assertEqual((await self.apply(replicas=3)).status, 0)

    async def test_two_managers(self) -> None:
        """Managers of equal values share them; each may leave without taking them along."""
        await self.apply("--field-manager=a")
        await self.apply("--field-manager=b")
        managers = [entry["manager"] for entry in (await self.live())["metadata"]["managedFields"]]
        self.assertEqual(managers, ["a", "b"])
        self.assertNotEqual((await self.apply("--field-manager=b", image="two")).status, 0)

    async def test_dry_run_and_diff(self) -> None:
        """A dry run and a diff show what would be, and leave things as they are."""
        if self.vocabulary == "orch" and minor_version() < 24:
            raise SkipTest("this kubectl asks an OpenAPI extension of Kubernetes' name for dry runs: not run")
        await self.apply()
        before = await self.live()
        self.assertEqual((await self.apply("--dry-run=server", image="two")).status, 0)
        diff = ("diff", "--server-side", "--field-manager=kubectl", "-f", "-")
        shown = await self.run_any(*diff, stdin=DEPLOYMENT.format(replicas=2, image="two"))
        self.assertEqual(shown.status, 1, shown.errors)
        self.assertIn("image: two", shown.output)
        same = await self.run_any(*diff, stdin=DEPLOYMENT.format(replicas=2, image="one"))
        self.assertEqual((same.status, same.output), (0, ""), same)
        self.assertEqual(await self.live(), before)

    async def test_migration_from_client_side(self) -> None:
        """Objects of client-side apply can be applied on the server without a conflict."""
        manifest = DEPLOYMENT.format(replicas=2, image="one")
        created = await self.run_any("apply", "-f", "-", stdin=manifest)
        self.assertEqual(created.status, 0, created.errors)
        moved = await self.apply(image="two")
        self.assertEqual(moved.status, 0, moved.errors)
        live = await self.live()
        self.assertEqual(live["spec"]["template"]["spec"]["containers"][0]["image"], "two")


class KubernetesKubectlApplyTests(KubectlApplyTests):
    """The same under Kubernetes' names."""

    vocabulary = "kubernetes"
