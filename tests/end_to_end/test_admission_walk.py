"""One pod on its way through everything that admission does, and what each part refuses (reference ADM-1, ADM-3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.kubectl import Kubectl
from orchtw.wire.objects import Object
from tests.end_to_end.case import NO_KUBECTL, reactor
from tests.end_to_end.test_start import ProcessCase
from tests.forked import forking

NAMESPACE = "guarded"
LIMITS = {
    "type": "Container",
    "max": {"cpu": "1"},
    "default": {"cpu": "200m", "memory": "128Mi"},
    "defaultRequest": {"cpu": "100m", "memory": "64Mi"},
}
SECURE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


class WalkTests(ProcessCase):
    """A namespace with a level of security, limits, a quota and a webhook, under the plugins of the default set."""

    skip = NO_KUBECTL
    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        self.api = self.server("--vocabulary=kubernetes")
        await self.api.start()
        self.kubectl = Kubectl(forking, self.api.kubeconfig, self.mktemp())
        self.webhook = AdmissionWebhook(reactor, "pods", mutating=True, vocabulary="kubernetes")
        self.addCleanup(self.webhook.stop)
        self.webhook.patch({"op": "add", "path": "/metadata/labels/seen", "value": "yes"})
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        await self.applied(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}},
            self.object("LimitRange", "limits", spec={"limits": [LIMITS]}),
            self.object("ResourceQuota", "quota", spec={"hard": {"pods": "2", "requests.cpu": "250m"}}),
            self.webhook.configuration,
        )

    def object(self, kind: str, name: str, **more: Any) -> Object:
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **more}

    def pod(self, name: str, security: Object | None = None, resources: Object | None = None, **spec: Any) -> Object:
        container = {"name": "c", "image": "i", "securityContext": security or SECURE, "resources": resources or {}}
        pod = self.object("Pod", name, spec={"containers": [container], **spec})
        pod["metadata"]["labels"] = {"app": "shop"}
        return pod

    def file(self, *objects: Object) -> str:
        path = Path(self.mktemp()).absolute()
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    async def applied(self, *objects: Object) -> None:
        result = await self.kubectl.run("apply", "-f", self.file(*objects))
        self.assertEqual((result.status, result.errors), (0, ""))

    async def refused(self, pod: Object, why: str) -> None:
        result = await self.kubectl.run("apply", "-f", self.file(pod))
        self.assertEqual(result.status, 1, result)
        self.assertIn(f'pods "{pod["metadata"]["name"]}" is forbidden: {why}', result.errors)

    async def test_walk(self) -> None:
        """The pod of a deployment's template gets an account, limits, a label and a priority, and is counted."""
        await self.applied(self.pod("a"))
        client = self.client(self.api)
        stored = (await client.get(f"/api/v1/namespaces/{NAMESPACE}/pods/a")).json
        container, spec, meta = stored["spec"]["containers"][0], stored["spec"], stored["metadata"]
        self.assertEqual(container["resources"]["requests"], {"cpu": "100m", "memory": "64Mi"})
        self.assertEqual(container["resources"]["limits"], {"cpu": "200m", "memory": "128Mi"})
        self.assertIn("LimitRanger plugin set", meta["annotations"]["kubernetes.io/limit-ranger"])
        self.assertEqual(meta["labels"], {"app": "shop", "seen": "yes"})
        self.assertEqual((spec["serviceAccountName"], spec["priority"]), ("default", 0))
        self.assertEqual(len(spec["tolerations"]), 2)
        (review,) = self.webhook.reviews
        self.assertEqual(review["object"]["spec"]["containers"][0]["resources"], container["resources"])
        quota = (await client.get(f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/quota")).json
        self.assertEqual(quota["status"]["used"], {"pods": "1", "requests.cpu": "100m"})

    async def test_refusals(self) -> None:
        """Refusals say why; a dry run meets the same, and neither is counted."""
        await self.refused(
            self.pod("a", security={"runAsNonRoot": True}), 'violates PodSecurity "restricted:latest": '
        )
        await self.refused(self.pod("a", resources={"limits": {"cpu": "2"}}), "maximum cpu usage per Container is 1")
        await self.refused(self.pod("a", priorityClassName="none"), "no PriorityClass with name none was found")
        await self.refused(self.pod("a", serviceAccountName="none"), "error looking up service account")
        await self.refused(
            self.pod("a", resources={"requests": {"cpu": "300m"}, "limits": {"cpu": "300m"}}),
            "exceeded quota: quota, requested: requests.cpu=300m, used: requests.cpu=0, limited: requests.cpu=250m",
        )
        self.webhook.deny("not today")
        result = await self.kubectl.run("apply", "-f", self.file(self.pod("a")), "--dry-run=server")
        self.assertIn('admission webhook "webhook.example.com" denied the request: not today', result.errors)
        self.webhook.allow()
        await self.applied(self.pod("a"), self.pod("b"))
        await self.refused(self.pod("c"), "exceeded quota: quota, requested: pods=1,requests.cpu=100m, used: pods=2,")
