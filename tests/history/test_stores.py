"""The record on other stores: a shared one, and one that encrypts."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from twisted.internet.defer import Deferred

from orchtw.errors import ServiceUnavailable
from orchtw.history.past import PastStates
from orchtw.testing.etcd import EtcdCluster
from tests.history.case import MAPS, SECRETS, RecordingCase, reactor, turn
from tests.storage.etcd.cluster import FLAGS, NO_ETCD


class EtcdTests(RecordingCase):
    """Two servers on an etcd cluster, which both record."""

    skip = NO_ETCD

    async def setUp(self) -> None:  # type: ignore[override]
        self.cluster = EtcdCluster(self.mktemp(), *FLAGS)
        self.addCleanup(self.cluster.end)
        await self.cluster.start(reactor)
        await self.begin(etcd_servers=tuple(self.cluster.endpoints))
        self.first = self.server
        await self.begin(etcd_servers=tuple(self.cluster.endpoints))

    async def test_other_server(self) -> None:
        """Writes of another server are recorded with their changes and manager, without their user and request."""
        await self.created("a", data={"x": "1"})
        await self.asked("PUT", f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"x": "2"}}, user_agent="tool/1")
        ours = await self.records(name="a")
        self.assertEqual([each["user"] for each in ours], ["admin", "admin"])
        self.server = self.first
        while len(theirs := await self.records(name="a")) < 2:
            await turn()
        self.assertEqual([each["changes"] for each in theirs], [each["changes"] for each in ours])
        self.assertEqual([(each["user"], each["auditID"], each["verb"]) for each in theirs],
                         [("", "", "create"), ("", "", "update")])  # fmt: skip
        self.assertEqual(theirs[1]["manager"], "tool")
        revision = ours[0]["revision"]
        (state,) = await self.lines("/at", revision=revision, name="a")
        self.assertEqual(state["object"]["data"], {"x": "1"})
        (line,) = await self.lines("/diff", from_=revision, name="a")
        self.assertEqual([each["path"] for each in line["changes"]], ["$.data.x"])


class EncryptedTests(RecordingCase):
    """A server whose Secrets and ConfigMaps are encrypted at rest."""

    async def setUp(self) -> None:  # type: ignore[override]
        path = Path(self.mktemp()).absolute()
        keys = [{"name": "k", "secret": b64encode(b"k" * 32).decode()}]
        resources = [{"resources": ["secrets", "configmaps"], "providers": [{"aesgcm": {"keys": keys}}]}]
        kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
        path.write_text(json.dumps({**kind, "resources": resources}))
        path.chmod(0o600)
        await self.begin(encryption_provider_config=path)

    async def test_origins(self) -> None:
        """Records are the same as without encryption, and as much is redacted."""
        revision = await self.created("a", data={"x": "1"})
        await self.put("a", data={"x": "2"})
        await self.created("s", SECRETS, stringData={"x": "geheim"})
        found = await self.records(since=revision - 1)
        self.assertEqual([each["user"] for each in found], ["admin"] * 3)
        self.assertEqual(found[1]["changes"], [{"op": "replace", "path": "$.data.x", "old": "1", "new": "2"}])
        self.assertEqual(found[2]["changes"][0]["new"], {"x": "<redacted>"})
        (state,) = await self.lines("/at", revision=revision, name="a", resource="configmaps")
        self.assertEqual(state["object"]["data"], {"x": "1"})


class LagTests(RecordingCase):
    """A record that does not follow."""

    async def test_lag(self) -> None:
        """A state is refused while the record has not what the caches have: it could not be undone."""
        resources = self.server.instance.resources
        states = PastStates(self.recorder, resources.cacher, resources.store)
        self.recorder.head -= 1
        await self.assertFailure(Deferred.fromCoroutine(states.resolve(0)), ServiceUnavailable)
