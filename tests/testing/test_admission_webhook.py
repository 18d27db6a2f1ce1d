"""The admission webhook for tests: its answers, its records, and its address."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import succeed
from twisted.trial.unittest import TestCase

from orchtw.admission.webhooks.answer import Expected, ReviewAnswer
from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.webhook import HANG_UP, WebhookRequest
from tests.admission.asked import CODECS
from tests.end_to_end.case import reactor

CODEC = CODECS.kind("admission.orch.io/v1", "AdmissionReview")


class AdmissionWebhookTests(TestCase):
    def webhook(self, *resources: str, **settings: Any) -> AdmissionWebhook:
        made = AdmissionWebhook(reactor, *resources, **settings)
        self.addCleanup(made.stop)
        return made

    async def asked(self, webhook: AdmissionWebhook) -> Any:
        """Return the webhook's answer to a review, before it is encoded."""
        request = {"uid": "u", "operation": "CREATE"}
        review = {"apiVersion": "admission.orch.io/v1", "kind": "AdmissionReview", "request": request}
        asked = WebhookRequest(method="POST", target="/admit", headers={}, body=orjson.dumps(review))
        return await webhook.server.answer(asked)

    async def answer(self, webhook: AdmissionWebhook) -> ReviewAnswer:
        text = orjson.dumps(await self.asked(webhook))
        return Expected(version="v1", uid="u", mutating=True, codec=CODEC).read(text)

    async def test_answers(self) -> None:
        """The webhook allows, denies or patches, and keeps its requests."""
        webhook = self.webhook("pods")
        self.assertEqual(await self.answer(webhook), ReviewAnswer(allowed=True))
        webhook.allow(warnings=["w"])
        self.assertEqual((await self.answer(webhook)).warnings, ("w",))
        webhook.deny("no", code=403)
        denied = await self.answer(webhook)
        assert denied.status is not None
        self.assertEqual((denied.allowed, denied.status["message"], denied.status["code"]), (False, "no", 403))
        webhook.deny()
        self.assertEqual(await self.answer(webhook), ReviewAnswer(allowed=False))
        webhook.patch({"op": "remove", "path": "/data"})
        self.assertEqual((await self.answer(webhook)).patch, b'[{"op":"remove","path":"/data"}]')
        webhook.answers = lambda request: succeed({"allowed": request["operation"] == "CREATE"})
        self.assertTrue((await self.answer(webhook)).allowed)
        webhook.reply(HANG_UP)
        self.assertIs(await self.asked(webhook), HANG_UP)
        self.assertEqual([each["uid"] for each in webhook.reviews], ["u"] * 7)

    async def test_configuration(self) -> None:
        """The configuration is of the kind, the vocabulary and the settings that were asked for."""
        webhook = self.webhook("pods", "pods/status", operations=("UPDATE",), failurePolicy="Ignore")
        self.assertEqual(
            webhook.path, "/apis/admissionregistration.orch.io/v1/validatingwebhookconfigurations"
        )
        (found,) = webhook.configuration["webhooks"]
        self.assertEqual(found["clientConfig"], webhook.server.client_config("/admit"))
        self.assertEqual((found["name"], found["failurePolicy"]), ("webhook.example.com", "Ignore"))
        self.assertEqual(
            found["rules"],
            [
                {
                    "operations": ["UPDATE"],
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "resources": ["pods", "pods/status"],
                }
            ],
        )
        other = self.webhook("pods", mutating=True, vocabulary="kubernetes", name="a.b.c")
        self.assertEqual(other.path, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations")
        self.assertEqual(other.configuration["apiVersion"], "admissionregistration.k8s.io/v1")
        self.assertEqual(other.configuration["metadata"]["name"], "a.b.c")
