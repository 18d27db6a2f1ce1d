"""`kubectl auth can-i` where a file and a webhook decide (reference AUTHZ-24, AUTHZ-34)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from orchtw.testing.kubectl import Kubectl
from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from orchtw.testing.webhook import WebhookRequest, WebhookServer
from tests.end_to_end.case import NO_KUBECTL, reactor
from tests.forked import forking


class CanITests(TestCase):
    """A server of its own, under Kubernetes' names."""

    if NO_KUBECTL:
        skip = NO_KUBECTL
    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        self.webhook = WebhookServer(reactor, self.answer)
        self.addCleanup(self.webhook.stop)
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        spec = {"user": "ann", "readonly": True, "namespace": "*", "resource": "pods", "apiGroup": ""}
        version = "abac.authorization.kubernetes.io/v1beta1"
        policies = self.folder / "policies.jsonl"
        policies.write_bytes(orjson.dumps({"apiVersion": version, "kind": "Policy", "spec": spec}))
        config = self.folder / "webhook.yaml"
        cluster = {"server": self.webhook.url, "certificate-authority-data": self.webhook.ca_bundle}
        config.write_text(yaml.safe_dump({"clusters": [{"name": "c", "cluster": cluster}]}))
        flags = (
            "--vocabulary=kubernetes",
            "--authorization-mode=RBAC,ABAC,Webhook,Node",
            f"--authorization-policy-file={policies.absolute()}",
            f"--authorization-webhook-config-file={config.absolute()}",
        )
        self.server = ServerProcess(forking, str(self.folder / "data"), *flags)
        await self.server.start()
        self.addCleanup(self.end)
        self.kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp())

    async def end(self) -> None:
        await self.server.terminate()

    def answer(self, asked: WebhookRequest) -> Any:
        review = asked.json
        self.assertEqual(review["apiVersion"], "authorization.k8s.io/v1beta1")
        spec = review["spec"]
        allowed = "ops" in spec["group"] and spec.get("resourceAttributes", {}).get("resource") == "secrets"
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "status": {"allowed": allowed}}

    async def can(self, *arguments: str) -> tuple[int, str]:
        result = await self.kubectl.run("auth", "can-i", *arguments)
        return result.status, result.output.strip().splitlines()[0]

    async def test_can_i(self) -> None:
        """Rights by the file or the webhook are a yes, everything else a no."""
        for arguments, expected in (
            (("delete", "nodes"), (0, "yes")),
            (("list", "pods", "--as=ann"), (0, "yes")),
            (("list", "pods", "--as=ann", "--namespace=kube-system"), (0, "yes")),
            (("delete", "pods", "--as=ann"), (1, "no")),
            (("list", "secrets", "--as=ann"), (1, "no")),
            (("list", "secrets", "--as=bob", "--as-group=ops"), (0, "yes")),
            (("list", "secrets", "--as=bob", "--as-group=dev"), (1, "no")),
            (("get", "/metrics", "--as=bob", "--as-group=ops"), (1, "no")),
            (("get", "/healthz", "--as=bob", "--as-group=ops"), (0, "yes")),
            (("list", "nodes", "--as=system:node:n1", "--as-group=system:nodes"), (0, "yes")),
            (("list", "secrets", "--as=system:node:n1", "--as-group=system:nodes"), (1, "no")),
        ):
            status, word = await self.can(*arguments)
            self.assertEqual((status, word.split(" ")[0]), expected, arguments)

    async def test_list(self) -> None:
        """The list has the policies, and a warning that the webhook's part is not in it."""
        result = await self.kubectl.run("auth", "can-i", "--list", "--as=ann")
        self.assertRegex(result.output, r"(?m)^pods +\[\] +\[\] +\[get list watch\]$")
        self.assertIn("webhook authorizer does not support user rule resolution", result.output + result.errors)


class StartTests(TestCase):
    timeout = 120

    async def test_contradictions(self) -> None:
        """A mode without its file, or with one that is invalid, ends the start in one line (reference AUTHZ-36)."""
        folder = Path(self.mktemp())
        folder.mkdir()
        bad = folder / "policies"
        bad.write_text("# nothing\n{}\n{oops\n")
        for flags, line in (
            (("--authorization-mode=ABAC",), "--authorization-mode: mode ABAC needs --authorization-policy-file"),
            (
                ("--authorization-mode=ABAC", f"--authorization-policy-file={bad.absolute()}"),
                f"error reading policy file {bad.absolute()}, line 3: {{oops: is not JSON",
            ),
        ):
            server = ServerProcess(forking, str(folder / "data"), *flags)
            failed = await self.assertFailure(_started(server), StartFailed)
            self.assertIn(line, str(failed))
            self.assertNotIn("Traceback", str(failed))


def _started(server: ServerProcess) -> Any:
    return Deferred.fromCoroutine(server.start())
