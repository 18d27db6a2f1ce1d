"""Services that lead to servers of the tester, over real TLS on loopback (reference HOOK-36)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from twisted.internet.task import deferLater

from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.webhook import Answering, WebhookRequest, WebhookServer
from orchtw.wire.objects import Object
from tests.end_to_end.case import reactor
from tests.end_to_end.conversion_case import ConversionCase
from tests.end_to_end.routes import answer, by_webhook, spec

NETWORK = "127.77.0.0/24"
NAME = "webhook"
_files: list[Path] = []


class ServiceServer(WebhookServer):
    """A server whose certificate is for a Service, which its configuration names in place of a URL."""

    def __init__(self, answering: Answering, namespace: str, **how: Any) -> None:
        super().__init__(reactor, answering, hosts=(f"{NAME}.{namespace}.svc",), **how)
        self._namespace = namespace

    def client_config(self, path: str = "") -> Object:
        return {"service": {"namespace": self._namespace, "name": NAME, "path": path}, "caBundle": self.ca_bundle}


class MappedCase(ConversionCase):
    """A server with a service map, whose file each test writes."""

    async def setUp(self) -> None:  # type: ignore[override]
        if not _files:
            _files.append(Path(self.mktemp()).absolute())
        self.map()
        self.flags = (
            *super().flags,
            f"--service-map-file={_files[0]}",
            f"--service-cluster-ip-range={NETWORK}",
        )
        await super().setUp()

    def map(self, *servers: WebhookServer) -> None:
        """Let the namespace's Service lead to these servers; to none, if there are none."""
        new = _files[0].with_suffix(".new")
        new.write_text("".join(f"{self.namespace}/{NAME}:443=127.0.0.1:{each.port}\n" for each in servers))
        os.replace(new, _files[0])

    def service_server(self, answering: Answering, **how: Any) -> ServiceServer:
        server = ServiceServer(answering, self.namespace, **how)
        self.addCleanup(server.stop)
        return server

    async def hooked(self, **how: Any) -> AdmissionWebhook:
        """Return a webhook of the namespace's ConfigMaps that is called."""
        webhook = AdmissionWebhook(
            reactor, "configmaps", mutating=True, name=f"{self.namespace}.example.com",
            server=lambda _reactor, answering: self.service_server(answering, **how),
            namespaceSelector={"matchLabels": {self.naming.namespace_name_label: self.namespace}},
        )  # fmt: skip
        await self.created(webhook.path, webhook.configuration)
        self.addCleanup(self.client.delete, f"{webhook.path}/{webhook.name}")
        webhook.patch({"op": "add", "path": "/data", "value": {"seen": "yes"}})
        return webhook

    async def written(self, name: str) -> str:
        """Create a ConfigMap; returns what the webhook has made of it, or the message of the refusal."""
        found = (await self.client.post(self.core("configmaps"), {"metadata": {"name": name}})).json
        text: str = found["message"] if found["kind"] == "Status" else found.get("data", {}).get("seen", "")
        return text


class ServiceMapTests(MappedCase):
    async def test_admission(self) -> None:
        """A webhook is called where the map says, without a Service, by the Service's name; and then elsewhere."""
        webhook = await self.hooked()
        self.assertIn(f'service "{NAME}" not found', await self.written("a"))
        self.map(webhook.server)
        self.assertEqual([await self.written("b"), await self.written("c")], ["yes", "yes"])
        self.assertEqual(len(webhook.reviews), 2)
        other = self.service_server(lambda asked: {})
        self.map(other)
        self.assertIn("x509: certificate signed by unknown authority", await self.written("d"))
        self.map(webhook.server)
        self.assertEqual(await self.written("e"), "yes")

    async def test_conversion(self) -> None:
        """A conversion webhook is called so too."""
        server = self.service_server(answer)
        self.map(server)
        await self.define(by_webhook(server.client_config("/convert")))
        await self.created(self.path("v1beta1"), self.route("v1beta1"))
        self.assertEqual(await self.spec("v1"), spec("v1", "h", 80))
        self.assertTrue(server.asked)

    async def test_aggregated_api(self) -> None:
        """A server behind an APIService becomes available when it is mapped, and answers."""
        group = f"{self.unique('agg')}.example.com"

        def answering(asked: WebhookRequest) -> Object:
            things = {"name": "things", "namespaced": True, "kind": "Thing", "singularName": "", "verbs": ["get"]}
            if asked.target == f"/apis/{group}/v1":
                return {"kind": "APIResourceList", "groupVersion": f"{group}/v1", "resources": [things]}
            return {"kind": "Thing", "you": asked.headers["x-remote-user"]}

        server = self.service_server(answering)
        obj = {
            "metadata": {"name": f"v1.{group}"},
            "spec": {
                "group": group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10,
                "service": {"namespace": self.namespace, "name": NAME}, "caBundle": server.ca_bundle,
            },
        }  # fmt: skip
        services = "/apis/apiregistration.orch.io/v1/apiservices"
        await self.created(services, obj)
        self.addCleanup(self.client.delete, f"{services}/v1.{group}")
        thing = f"/apis/{group}/v1/namespaces/{self.namespace}/things/a"
        await self.until(thing, 503)
        self.map(server)
        await self.until(thing, 200)
        self.assertEqual((await self.client.get(thing)).json, {"kind": "Thing", "you": "orch-admin"})

    async def test_proxy(self) -> None:
        """The sub-resource `proxy` of the Service leads there too."""
        server = self.service_server(lambda asked: {"target": asked.target})
        self.map(server)
        found = await self.client.get(self.core("services", f"https:{NAME}:443", "proxy", "a?b=c"))
        self.assertEqual((found.code, found.json), (200, {"target": "/a?b=c"}))

    async def test_own_network(self) -> None:
        """A cluster address in the administrator's range is dialled, though it is loopback."""
        webhook = await self.hooked(address="127.77.0.9")
        config = webhook.configuration["webhooks"][0]
        config["clientConfig"]["service"]["port"] = webhook.server.port
        await self.client.merge(f"{webhook.path}/{webhook.name}", {"webhooks": [config]})
        service = {"clusterIP": "127.77.0.9", "ports": [{"port": webhook.server.port}]}
        await self.created(self.core("services"), {"metadata": {"name": NAME}, "spec": service})
        while (found := await self.written("a")) != "yes":  # the new configuration is not in force yet
            self.assertIn(f'no service port 443 found for service "{NAME}"', found)
            await deferLater(reactor, 0.02)
