"""Base of the conversion tests: routes in several versions, and a webhook that converts them."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import deferLater

from orchtw.testing.webhook import WebhookServer
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.routes import SPECS, answer, by_webhook, definition, route

DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"


class ConversionCase(ServerCase):
    """A group of the test's own."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        await super().setUp()
        self.crd_group = f"{self.unique('g')}.example.com"

    async def define(self, conversion: Object | None, storage: str = "v1", **specs: Object) -> None:
        """Routes, until they are served."""
        await self.created(DEFINITIONS, definition(self.crd_group, conversion, storage, **specs))
        for version in specs or SPECS:
            await self.until(self.path(version), 200)

    async def redefine(self, **changes: Any) -> None:
        """Merge changes into the definition's spec."""
        found = await self.client.merge(f"{DEFINITIONS}/routes.{self.crd_group}", {"spec": changes})
        self.assertEqual(found.code, 200, found)

    async def store_in(self, version: str) -> None:
        """Make another version the one of the store."""
        found = (await self.client.get(f"{DEFINITIONS}/routes.{self.crd_group}")).json
        before = await self.storage_hash(version)
        versions = [{**each, "storage": each["name"] == version} for each in found["spec"]["versions"]]
        await self.redefine(versions=versions)
        while await self.storage_hash(version) == before:
            await deferLater(reactor, 0.02, lambda: None)

    async def storage_hash(self, version: str) -> str:
        """Return the storage version hash in discovery."""
        resources = (await self.client.get(f"/apis/{self.crd_group}/{version}")).json["resources"]
        found: str = resources[0]["storageVersionHash"]
        return found

    async def until(self, path: str, code: int) -> None:
        while (await self.client.get(path)).code != code:
            await deferLater(reactor, 0.02, lambda: None)

    def path(self, version: str, *rest: str) -> str:
        return "/".join((f"/apis/{self.crd_group}/{version}/namespaces/{self.namespace}/routes", *rest))

    def route(self, version: str, name: str = "a", host: str = "h", port: int = 80, **meta: Any) -> Object:
        return route(self.crd_group, version, name, host, port, **meta)

    async def spec(self, version: str, name: str = "a") -> Object:
        found = await self.client.get(self.path(version, name))
        self.assertEqual(found.code, 200, found)
        shown: Object = found.json["spec"]
        return shown


class WebhookCase(ConversionCase):
    """With a webhook that does what it should until it is told otherwise."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        await super().setUp()
        self.webhook = WebhookServer(reactor, answer)
        self.addCleanup(self.webhook.stop)

    async def define_by_webhook(self, storage: str = "v1", *reviews: str) -> None:
        await self.define(by_webhook(self.webhook.client_config("/convert"), *reviews), storage)

    def failed(self, why: str, version: str = "v1") -> str:
        return f"conversion webhook for {self.crd_group}/{version}, Kind=Route {why}"
