"""Client libraries with the settings that `ApiServer` and `AsyncApiServer` have for them."""

# covers: orchtw.testing.async_api_server

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import kr8s
import kr8s.asyncio
import kr8s.objects
import kubernetes
import kubernetes_asyncio
import lightkube
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap
from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.async_api_server import AsyncApiServer
from tests.testing.api_servers import CONFIG_MAPS, ForkedServersCase, config_map, shared


class BlockingClientTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.server = shared()

    def assertWritten(self) -> None:
        """The ConfigMap `a` was created, by the administrator."""
        (write,) = self.server.writes(resource="configmaps")
        self.assertEqual((write.type, write.name, write.user), ("ADDED", "a", "kubernetes-admin"))

    def test_kubernetes(self) -> None:
        """The public client, by its settings (the token) and by a kubeconfig of a user."""
        configuration = kubernetes.client.Configuration(**self.server.client_config())
        with kubernetes.client.ApiClient(configuration) as client:
            core = kubernetes.client.CoreV1Api(client)
            body: Any = config_map("a", x="1")
            core.create_namespaced_config_map("default", body)
            self.assertEqual(core.read_namespaced_config_map("a", "default").data, {"x": "1"})
        self.assertWritten()
        with kubernetes.config.new_client_from_config(str(self.server.user("alice"))) as client:
            core = kubernetes.client.CoreV1Api(client)
            error = self.assertRaises(kubernetes.client.ApiException, core.list_namespaced_config_map, "default")
            self.assertIn('User \\"alice\\" cannot list', error.body)

    def test_lightkube(self) -> None:
        """lightkube, by its own settings."""
        client = lightkube.Client(config=self.server.lightkube_config())
        client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "1"}))
        self.assertEqual(client.get(ConfigMap, "a", namespace="default").data, {"x": "1"})
        self.assertWritten()

    def test_kr8s(self) -> None:
        """kr8s, by its settings."""
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of a release that it has not met
            api = kr8s.api(**self.server.kr8s_config())
        manifest = {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1"}}
        kr8s.objects.ConfigMap(manifest, api=api).create()
        self.assertEqual(kr8s.objects.ConfigMap.get("a", namespace="default", api=api).data, {"x": "1"})
        self.assertWritten()


class AsynchronousClientTests(ForkedServersCase):
    def test_all(self) -> None:
        """kubernetes_asyncio by its settings and by a kubeconfig, lightkube and kr8s in one loop with the server."""
        asyncio.run(self._all())

    async def _all(self) -> None:
        async with AsyncApiServer() as server:
            await server.request("POST", CONFIG_MAPS, config_map("a", x="1"))
            configuration = kubernetes_asyncio.client.Configuration(**server.client_config())
            async with kubernetes_asyncio.client.ApiClient(configuration) as client:
                core = kubernetes_asyncio.client.CoreV1Api(client)
                self.assertEqual((await core.read_namespaced_config_map("a", "default")).data, {"x": "1"})
            loaded = kubernetes_asyncio.client.Configuration()
            await kubernetes_asyncio.config.load_kube_config(str(server.kubeconfig), client_configuration=loaded)
            async with kubernetes_asyncio.client.ApiClient(loaded) as client:
                core = kubernetes_asyncio.client.CoreV1Api(client)
                self.assertEqual((await core.read_namespaced_config_map("a", "default")).data, {"x": "1"})
            light = lightkube.AsyncClient(config=server.lightkube_config())
            self.assertEqual((await light.get(ConfigMap, "a", namespace="default")).data, {"x": "1"})
            await light.close()
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                api = await kr8s.asyncio.api(**server.kr8s_config())
            found: list[Any] = [each async for each in api.get("configmaps", "a", namespace="default")]
            self.assertEqual([each.name for each in found], ["a"])
