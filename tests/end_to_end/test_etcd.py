"""Servers whose store is an etcd cluster (reference STORE-30 and STORE-33)."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.trial.unittest import TestCase

from orchtw.naming.naming import Naming
from orchtw.testing.etcd import EtcdCluster
from orchtw.testing.in_process import InProcessServer
from tests.storage.etcd.cluster import FLAGS, NO_ETCD
from tests.vocabularies import in_both

reactor: Any = installed_reactor

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


@in_both
class EtcdServerTests(TestCase):
    skip = NO_ETCD
    vocabulary = "orch"

    async def setUp(self) -> None:  # type: ignore[override]
        self.cluster = EtcdCluster(self.mktemp(), *FLAGS)
        self.addCleanup(self.cluster.end)
        await self.cluster.start(reactor)

    def new_server(self, **settings: Any) -> InProcessServer:
        """A server on the cluster, yet to be started."""
        servers = tuple(self.cluster.endpoints)
        settings = {"vocabulary": self.vocabulary, "etcd_servers": servers, "etcd_prefix": "/other", **settings}
        return InProcessServer(reactor, self.mktemp(), **settings)

    async def server(self, **settings: Any) -> InProcessServer:
        """A server on the cluster, until the end of the test."""
        server = self.new_server(**settings)
        await server.start()
        self.addCleanup(server.stop)
        return server

    def encryption(self) -> Path:
        """A configuration that encrypts secrets."""
        path = Path(self.mktemp()).absolute()
        keys = [{"name": "k", "secret": b64encode(b"k" * 32).decode()}]
        providers = [{"aesgcm": {"keys": keys}}, {"identity": {}}]
        path.write_text(
            json.dumps(
                {
                    "apiVersion": Naming.of(self.vocabulary).api_version("apiserver.config.orch.io/v1"),
                    "kind": "EncryptionConfiguration",
                    "resources": [{"resources": ["secrets"], "providers": providers}],
                }
            )
        )
        return path

    async def test_two_servers(self) -> None:
        """Writes acknowledged by one server are read, listed and watched at the other; secrets are encrypted."""
        keys = self.encryption()
        one, other = [await self.server(encryption_provider_config=keys) for _ in range(2)]
        watch = await other.watch(f"{MAPS}?watch=1&resourceVersion=0&fieldSelector=metadata.name=a")
        for number in range(5):
            body = {"metadata": {"name": "a"}, "data": {"n": str(number)}}
            method, url = ("PUT", f"{MAPS}/a") if number else ("POST", MAPS)
            made = await one.request(method, url, body)
            self.assertIn(made.code, (200, 201))
            found = await other.request("GET", f"{MAPS}/a")
            self.assertEqual(found.json["data"], {"n": str(number)})
            event = await watch.next()
            self.assertEqual(event["object"]["metadata"]["resourceVersion"], made.json["metadata"]["resourceVersion"])
        await one.request("POST", SECRETS, {"metadata": {"name": "s"}, "stringData": {"k": "plain words"}})
        found = await other.request("GET", f"{SECRETS}/s")
        self.assertEqual(found.json["data"], {"k": b64encode(b"plain words").decode()})
        stored = self.cluster.control("get", "/other/secrets/default/s", "--print-value-only")
        self.assertTrue(stored.startswith("k8s:enc:aesgcm:v1:k:"))
        stored = self.cluster.control("get", "/other/configmaps/default/a", "--print-value-only")
        self.assertTrue(stored.startswith("k8s\0"))
        watch.close()

    async def test_version_of_another_server(self) -> None:
        """A version that only another server has come to so far is waited for, not refused (reference READ-8)."""
        one, other = await self.server(), await self.server()
        self.cluster.control("put", "elsewhere", "x")
        listed = (await one.request("GET", MAPS)).json["metadata"]["resourceVersion"]
        found = await other.request("GET", f"{MAPS}?resourceVersion={listed}")
        self.assertEqual(found.code, 200)
        self.assertGreaterEqual(int(found.json["metadata"]["resourceVersion"]), int(listed))

    async def test_health(self) -> None:
        """Without its cluster a server is neither ready nor healthy, and says no more than which check failed."""
        server = await self.server(etcd_healthcheck_timeout_s=0.2)
        self.assertEqual((await server.request("GET", "/readyz/etcd")).code, 200)
        self.cluster.members[0].signal("STOP")
        answer = await server.request("GET", "/readyz")
        self.assertEqual(answer.code, 500)
        self.assertIn(b"[-]etcd failed: reason withheld\n", answer.body)
        self.cluster.members[0].signal("CONT")
        self.assertEqual((await server.request("GET", "/readyz/etcd")).code, 200)
        self.flushLoggedErrors()

    async def test_restarted(self) -> None:
        """A server with a folder of its own starts on what the one before has stored, Secrets sealed (VOC-8)."""
        keys = self.encryption()
        for number in range(3):
            server = self.new_server(encryption_provider_config=keys)
            await server.start()
            try:
                self.assertEqual((await server.request("POST", MAPS, {"metadata": {"name": f"c{number}"}})).code, 201)
                for name in ("c0", f"c{number}"):
                    self.assertEqual((await server.request("GET", f"{MAPS}/{name}")).code, 200)
            finally:
                await server.stop()
