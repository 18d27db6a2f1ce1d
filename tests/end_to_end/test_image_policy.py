"""ImagePolicyWebhook with a real backend that is good, slow, failing and lying (reference PLUG-50 to PLUG-52)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from twisted.internet.defer import Deferred, ensureDeferred, gatherResults
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from orchtw.testing.webhook import Reply, WebhookRequest, WebhookServer
from orchtw.wire.objects import Object
from tests.end_to_end.case import TRACEBACKS, reactor
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking

VERSION = "imagepolicy.orch.io/v1alpha1"
PODS = "/api/v1/namespaces/default/pods"
MARK = "alpha.image-policy.orch.io/failed-open"


def pod(name: str, image: str, **annotations: str) -> Object:
    spec = {"containers": [{"name": "c", "image": image}], "automountServiceAccountToken": False}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


class BackendCase(TestCase):
    """A server of its own, and a backend that judges by the image's name."""

    timeout = 120

    async def started(self, **more: Any) -> None:
        """Start the server with a configuration."""
        self.webhook = WebhookServer(reactor, self.answer)
        self.addCleanup(self.webhook.stop)
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        cluster = {"server": f"{self.webhook.url}/images", "certificate-authority-data": self.webhook.ca_bundle}
        (self.folder / "backend.yaml").write_text(yaml.safe_dump({"clusters": [{"name": "c", "cluster": cluster}]}))
        policy = {"imagePolicy": {"kubeConfigFile": "backend.yaml", "retryBackoff": 1, **more}}
        (self.folder / "policy.yaml").write_text(yaml.safe_dump(policy))
        entry = {"name": "ImagePolicyWebhook", "path": "policy.yaml"}
        whole = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration", "plugins": [entry]}
        config = self.folder / "admission.yaml"
        config.write_text(yaml.safe_dump(whole))
        flags = (
            "--enable-admission-plugins=ImagePolicyWebhook",
            f"--admission-control-config-file={config}",
            "--runtime-config=imagepolicy.orch.io/v1alpha1=true",
            "--disable-admission-plugins=ServiceAccount",
        )
        self.server = ServerProcess(forking, str(self.folder / "data"), *flags)
        await self.server.start()
        self.addCleanup(self.end)
        self.client = Client(self.server.port, tls_context(self.server.kubeconfig))
        self.addCleanup(self.client.close)

    async def end(self) -> None:
        await self.server.terminate()
        for word in TRACEBACKS:
            self.assertNotIn(word, self.server.log)

    def answer(self, asked: WebhookRequest) -> Any:
        spec = asked.json["spec"]
        image = spec["containers"][0]["image"]
        if image == "slow":
            return Reply(silent=True)
        if image == "failing":
            return Reply(code=500)
        if image == "lying":
            return {"apiVersion": VERSION, "kind": "ImageReview", "status": {"allowed": "certainly"}}
        if image == "html":
            return Reply(body=b"<html>", content_type="text/html")
        status = {"allowed": image == "good", "reason": f"{image} is not good"}
        return {"apiVersion": VERSION, "kind": "ImageReview", "status": status}

    async def tried(self, image: str) -> Answer:
        """Create a pod of this image."""
        return await self.client.post(PODS, pod(f"p-{image}", image))

    def forbidden(self, answer: Answer, why: str) -> None:
        self.assertEqual(answer.code, 403, answer)
        self.assertTrue(answer.json["message"].endswith(why), answer)


class RefusingTests(BackendCase):
    """Images without a verdict do not pass."""

    async def test_backend(self) -> None:
        """Judgements, troubles and lies; one who waits for a slow answer keeps nobody else."""
        await self.started()
        slow: Deferred[Answer] = ensureDeferred(self.tried("slow"))
        answer = await self.client.post(PODS, pod("p", "good", **{"a.image-policy.orch.io/ticket": "7", "b": "c"}))
        self.assertEqual(answer.code, 201, answer)
        asked = [each.json["spec"] for each in self.webhook.asked if b'"good"' in each.body]
        told = {"a.image-policy.orch.io/ticket": "7"}
        self.assertEqual(asked, [{"containers": [{"image": "good"}], "annotations": told, "namespace": "default"}])
        why = "image policy webhook backend denied one or more images: bad is not good"
        for _ in range(2):
            self.forbidden(await self.tried("bad"), why)
        self.assertEqual(sum(b'"bad"' in each.body for each in self.webhook.asked), 1)
        self.forbidden(await self.tried("failing"), "Error contacting webhook: 500")
        self.assertEqual(sum(b'"failing"' in each.body for each in self.webhook.asked), 5)
        self.forbidden(await self.tried("lying"), "the webhook's answer has allowed of the wrong type")
        self.forbidden(await self.tried("html"), "the webhook's answer is not JSON")
        await self.check_updates(why)
        answers = await gatherResults([ensureDeferred(self.client.get(PODS)) for _ in range(20)])
        self.assertEqual({each.code for each in answers}, {200})
        self.assertFalse(slow.called)
        await self.webhook.stop()
        self.forbidden(await slow, "connection refused")

    async def check_updates(self, why: str) -> None:
        """A new image is judged, in an apply and for a look into the pod as well; a label is not."""
        path = f"{PODS}/p"
        count = len(self.webhook.asked)
        self.assertEqual((await self.client.merge(path, {"metadata": {"labels": {"a": "b"}}})).code, 200)
        self.assertEqual(len(self.webhook.asked), count)
        self.forbidden(await self.client.merge(path, {"spec": {"containers": [{"name": "c", "image": "bad"}]}}), why)
        obj = {"apiVersion": "v1", "kind": "Pod", **pod("p", "bad")}
        headers = {"Content-Type": "application/apply-patch+yaml"}
        applied = await self.client.send("PATCH", f"{path}?fieldManager=m&force=true", obj, headers)
        self.forbidden(applied, why)
        look = {"spec": {"ephemeralContainers": [{"name": "e", "image": "bad"}]}}
        self.forbidden(await self.client.merge(f"{path}/ephemeralcontainers", look), why)
        self.forbidden(await self.client.post(f"{PODS}?dryRun=All", pod("q", "bad")), why)


class PassingTests(BackendCase):
    """By defaultAllow troubles let pass, refusals do not."""

    async def test_backend(self) -> None:
        """A pod that nobody has judged is marked; that of a refusal is not there."""
        await self.started(defaultAllow=True, allowTTL=-1, denyTTL=-1)
        for image in ("failing", "lying", "html"):
            answer = await self.tried(image)
            self.assertEqual((answer.code, answer.json["metadata"]["annotations"]), (201, {MARK: "true"}), answer)
        self.forbidden(await self.tried("bad"), "bad is not good")
        answer = await self.tried("good")
        self.assertNotIn("annotations", answer.json["metadata"])
        await self.webhook.stop()
        answer = await self.tried("bad")
        self.assertEqual((answer.code, answer.json["metadata"]["annotations"]), (201, {MARK: "true"}), answer)


class ConfigurationTests(TestCase):
    """Every mistake in what plugins are given ends the start, with a line."""

    timeout = 120

    async def test_lines(self) -> None:
        """All plugins are looked at, not just the first."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        given = {
            "ImagePolicyWebhook": {"imagePolicy": {"allowTTL": 99999}},
            "PodNodeSelector": {"podNodeSelectorPluginConfig": {"ns": "a"}},
            "PodTolerationRestriction": {"apiVersion": "v1", "kind": "Configuration"},
        }
        plugins = [{"name": name, "configuration": obj} for name, obj in given.items()]
        whole = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins}
        config = folder / "admission.yaml"
        config.write_text(yaml.safe_dump(whole))
        names = ",".join((*given, "EventRateLimit"))
        flags = (f"--enable-admission-plugins={names}", f"--admission-control-config-file={config}")
        server = ServerProcess(forking, str(folder / "data"), *flags)
        starting: Deferred[Any] = Deferred.fromCoroutine(server.start())
        failure = await self.assertFailure(starting, StartFailed)
        for line in (
            "imagePolicy.allowTTL: valid value is between 1s and 30m0s, got 27h46m39s",
            "podNodeSelectorPluginConfig.ns: invalid selector: [a]",
            'no kind "Configuration" is registered for version "v1"',
            'couldn\'t init admission plugin "EventRateLimit": no config specified',
        ):
            self.assertIn(line, str(failure))
        self.assertNotIn("Traceback", str(failure))
