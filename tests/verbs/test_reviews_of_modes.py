"""Reviews, refusals and impersonation where several modes decide together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.testing.in_process import ClientAnswer
from orchtw.testing.webhook import Reply, WebhookRequest, WebhookServer
from orchtw.wire.objects import Object
from tests.authz.answers import decided
from tests.in_process import InProcessServer

AUTHORIZATION = "/apis/authorization.orch.io/v1"
POLICIES = (
    {"user": "ann", "readonly": True, "namespace": "default", "resource": "*", "apiGroup": "*"},
    {"user": "ann", "nonResourcePath": "/metrics*"},
)
DISOWNED = "webhook authorizer does not support user rule resolution"


class ModesTests(TestCase):
    """Node, ABAC and Webhook, in this order; the webhook answers by the user's name."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.webhook = WebhookServer(reactor, self.answer)
        self.addCleanup(self.webhook.stop)
        folder = Path(self.mktemp())
        folder.mkdir(parents=True)
        policies, config = folder / "policies.jsonl", folder / "webhook.yaml"
        lines = (
            orjson.dumps({"apiVersion": "abac.authorization.orch.io/v1beta1", "kind": "Policy", "spec": spec})
            for spec in POLICIES
        )
        policies.write_bytes(b"\n".join(lines))
        cluster = {"server": self.webhook.url, "certificate-authority-data": self.webhook.ca_bundle}
        config.write_text(yaml.safe_dump({"clusters": [{"name": "c", "cluster": cluster}]}))
        self.server = InProcessServer(
            reactor,
            folder / "data",
            authorization_mode=("Node", "ABAC", "Webhook"),
            authorization_policy_file=policies,
            authorization_webhook_config_file=config,
            authorization_webhook_version="v1",
        )
        await self.server.start()
        self.addCleanup(self.server.stop)

    def answer(self, asked: WebhookRequest) -> Any:
        user = asked.json["spec"]["user"]
        if user == "lost":
            return Reply(code=403, body=b"not today", content_type="text/plain")
        return decided(asked, allowed=user == "joe", denied=user == "eve", reason=f"{user} asks")

    async def send(self, method: str, url: str, body: Any = None, user: str = "", *groups: str) -> ClientAnswer:
        """Ask as the administrator, or as somebody else."""
        headers = {"impersonate-user": user} if user else {}
        if groups:
            headers["impersonate-group"] = groups[0]
        return await self.server.request(method, url, body, headers)

    async def reviewed(self, user: str, **spec: Any) -> Object:
        """The status of a review of what a user may do: by default, write configmaps."""
        attributes = {"verb": "create", "resource": "configmaps", "namespace": "default"}
        spec = {"user": user, **(spec or {"resourceAttributes": attributes})}
        answer = await self.send("POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
        self.assertEqual(answer.code, 201, answer)
        status: Object = answer.json["status"]
        return status

    async def test_access(self) -> None:
        """A status tells allowed, denied, no opinion and errors apart, with every reason (reference AUTHZ-27)."""
        no_policy = "No policy matched."
        for user, expected in (
            ("joe", {"allowed": True, "reason": "joe asks"}),
            ("eve", {"allowed": False, "denied": True, "reason": "eve asks"}),
            ("bob", {"allowed": False, "reason": f"{no_policy}\nbob asks"}),
            ("lost", {"allowed": False, "reason": no_policy, "evaluationError": "not today"}),
        ):
            self.assertEqual(await self.reviewed(user), expected)

    async def test_order(self) -> None:
        """A request that an earlier mode allows is not asked further, and all of the user is passed on (AUTHZ-5)."""
        resource = {"verb": "list", "resource": "pods", "namespace": "default"}
        self.assertEqual(await self.reviewed("ann", resourceAttributes=resource), {"allowed": True})
        path = {"verb": "get", "path": "/metrics/x"}
        self.assertEqual(await self.reviewed("ann", nonResourceAttributes=path), {"allowed": True})
        self.assertEqual(self.webhook.asked, [])
        extra = {"scopes": ["a", "b"]}
        await self.reviewed("bob", nonResourceAttributes=path, groups=["dev"], uid="7", extra=extra)
        spec = self.webhook.asked[0].json["spec"]
        self.assertEqual(
            spec, {"nonResourceAttributes": path, "user": "bob", "groups": ["dev"], "uid": "7", "extra": extra}
        )

    async def test_selectors(self) -> None:
        """A webhook gets the selectors of a review as requirements (reference AUTHZ-43)."""
        resource = {"verb": "list", "resource": "secrets", "namespace": "default"}
        raw = {"fieldSelector": {"rawSelector": "metadata.name=x"}, "labelSelector": {"rawSelector": "a"}}
        await self.reviewed("joe", resourceAttributes={**resource, **raw})
        asked = self.webhook.asked[0].json["spec"]["resourceAttributes"]
        fields = [{"key": "metadata.name", "operator": "In", "values": ["x"]}]
        labels = [{"key": "a", "operator": "Exists"}]
        self.assertEqual(asked["fieldSelector"], {"requirements": fields})
        self.assertEqual(asked["labelSelector"], {"requirements": labels})

    async def test_requests(self) -> None:
        """Requests are decided as reviews say, and a refusal has every reason (reference AUTHZ-5, ERR-26)."""
        url = "/api/v1/namespaces/default/configmaps"
        for user, code, why in (
            ("joe", 200, ""),
            ("ann", 200, ""),
            ("eve", 403, ": eve asks"),
            ("bob", 403, ": No policy matched.\nbob asks"),
            ("lost", 403, ": No policy matched.\nnot today"),
        ):
            answer = await self.send("GET", url, None, user)
            self.assertEqual(answer.code, code, user)
            if why:
                text = f'configmaps is forbidden: User "{user}" cannot list resource "configmaps" in API group "" in '
                self.assertEqual(answer.json["message"], f'{text}the namespace "default"{why}')

    async def test_self_and_local(self) -> None:
        """Reviews of oneself and of a namespace are decided by the same modes (reference AUTHZ-26)."""
        attributes = {"verb": "create", "resource": "secrets", "namespace": "default"}
        spec = {"resourceAttributes": attributes}
        url = f"{AUTHORIZATION}/selfsubjectaccessreviews"
        answer = await self.send("POST", url, {"spec": spec}, "joe")
        self.assertEqual(answer.json["status"], {"allowed": True, "reason": "joe asks"})
        url = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
        answer = await self.send("POST", url, {"spec": {**spec, "user": "eve"}})
        self.assertEqual(answer.json["status"], {"allowed": False, "denied": True, "reason": "eve asks"})

    async def rules(self, user: str, *groups: str) -> Object:
        """A user's rules review lists its rules."""
        url, spec = f"{AUTHORIZATION}/selfsubjectrulesreviews", {"namespace": "default"}
        answer = await self.send("POST", url, {"spec": spec}, user, *groups)
        self.assertEqual(answer.code, 201, answer)
        status: Object = answer.json["status"]
        return status

    async def test_rules(self) -> None:
        """Rules are those that can be listed, and the rest is told as incomplete (reference AUTHZ-29)."""
        self.webhook.answer = lambda asked: decided(asked, allowed=True)
        status = await self.rules("ann")
        read = {"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]}
        self.assertEqual(status["resourceRules"], [read])
        self.assertEqual(status["nonResourceRules"], [{"verbs": ["*"], "nonResourceURLs": ["/metrics*"]}])
        self.assertEqual((status["incomplete"], status["evaluationError"]), (True, DISOWNED))
        status = await self.rules("system:node:n1", "system:nodes")
        both = f"[node authorizer does not support user rule resolution, {DISOWNED}]"
        self.assertFalse(status["resourceRules"])
        self.assertEqual(status["evaluationError"], both)

    async def test_node(self) -> None:
        """A node sees a secret from the moment a pod with it is bound until that is gone (reference AUTHZ-31)."""
        self.webhook.answer = lambda asked: {"status": {}}
        pods, url = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/secrets/s"
        secret = {"metadata": {"name": "s"}, "data": {}}
        self.assertEqual((await self.send("POST", "/api/v1/namespaces/default/secrets", secret)).code, 201)

        async def codes() -> list[int]:
            users = ("system:node:n1", "system:node:n2")
            return [(await self.send("GET", url, None, user, "system:nodes")).code for user in users]

        self.assertEqual(await codes(), [403, 403])
        spec = {
            "containers": [{"name": "c", "image": "i"}], "nodeName": "n1",
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
        }  # fmt: skip
        self.assertEqual((await self.send("POST", pods, {"metadata": {"name": "p"}, "spec": spec})).code, 201)
        self.assertEqual(await codes(), [200, 403])
        gone = await self.send("DELETE", f"{pods}/p?gracePeriodSeconds=0")
        self.assertEqual(gone.code, 200)
        self.assertEqual(await codes(), [403, 403])
