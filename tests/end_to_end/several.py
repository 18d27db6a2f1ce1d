"""Two servers on one etcd, as processes that all tests of a vocabulary share; they start at the same time."""

from __future__ import annotations

import json
import os
import shutil
import socket
from base64 import b64encode
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.pki import first_start
from orchtw.testing.etcd import EtcdCluster
from orchtw.testing.process import ServerProcess
from tests.end_to_end import case
from tests.end_to_end.case import TRACEBACKS, reactor
from tests.end_to_end.client import Client, tls_context
from tests.forked import forking
from tests.hurried import HurriedServer
from tests.storage.etcd.cluster import FLAGS as CLUSTER_FLAGS

FLAGS = (
    "--service-cluster-ip-range=10.20.0.0/22",
    "--controllers=*,-root-ca-cert-publisher",
    "--leader-elect",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    "--event-ttl=1s",
)
PERIODS = {
    "orchtw.assembly.apiextensions.ESTABLISHING_DELAY_S": 2.0,
    "orchtw.storage.cache.freshness.WAIT_S": 1.0,
}
"""Shorter than those of users: until a definition counts at every server, and for versions to come."""
PATIENCE_S = 30.0

_pairs: dict[str, list[ServerProcess]] = {}
_clusters: list[EtcdCluster] = []
_names = count(1)


def make_folders(parent: str, names: tuple[str, ...], naming: Naming) -> list[Path]:
    """Data folders whose keys are the same: those of the first, copied."""
    folders = [Path(parent).absolute() / name for name in names]
    first, *others = folders
    first.mkdir(parents=True, mode=0o700)
    first_start.prepare(pki_options(Config.of(data_dir=first)), naming, 1, datetime.now(UTC))
    for other in others:
        other.mkdir(mode=0o700)
        shutil.copytree(first / "pki", other / "pki")
    return folders


def free_port() -> int:
    """A port that nobody listens on now, and that a server keeps when it is started again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def sealing_file(folder: Path, naming: Naming) -> Path:
    """An EncryptionConfiguration that has Secrets sealed."""
    key = {"name": "k", "secret": b64encode(os.urandom(32)).decode()}
    document = {
        "apiVersion": naming.api_version("apiserver.config.orch.io/v1"),
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"aescbc": {"keys": [key]}}, {"identity": {}}]}],
    }
    path = folder / "sealing.json"
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


async def all_of(*works: Any) -> list[Any]:
    """The results of coroutines that run at the same time."""
    results: list[Any] = await gatherResults([Deferred.fromCoroutine(work) for work in works], consumeErrors=True)
    return results


async def shared_cluster(parent: str) -> EtcdCluster:
    """The cluster of all pairs, each of which has a prefix; not the one whose revisions other tests count."""
    if not _clusters:
        _clusters.append(EtcdCluster(Path(parent) / "etcd", *CLUSTER_FLAGS))
        await _clusters[0].start(reactor)
    return _clusters[0]


async def shared_pair(parent: str, naming: Naming) -> tuple[EtcdCluster, list[ServerProcess]]:
    """The cluster, and two servers on it; `parent` is for their data if they are yet to be started."""
    cluster = await shared_cluster(parent)
    pair = _pairs.setdefault(naming.vocabulary, [])
    if not pair:
        folders = make_folders(parent, ("a", "b"), naming)
        flags = (
            f"--vocabulary={naming.vocabulary}",
            f"--etcd-servers={','.join(cluster.endpoints)}",
            f"--etcd-prefix=/several-{naming.vocabulary}",
            f"--encryption-provider-config={sealing_file(folders[0].parent, naming)}",
        )
        for folder in folders:
            own = f"--secure-port={free_port()}"
            server = HurriedServer(forking, folder, own, *flags, *FLAGS, periods=PERIODS)
            case._shared[("several", str(folder))] = server
            pair.append(server)
    await all_of(*(server.start() for server in pair if not server.running))
    return cluster, pair


class PairCase(TestCase):
    """Tests with a client at each of the two servers, `a` and `b`, and a namespace that no other test has."""

    vocabulary = "orch"
    timeout = 180

    async def setUp(self) -> None:  # type: ignore[override]
        self.naming = Naming.of(self.vocabulary)
        self.cluster, self.servers = await shared_pair(self.mktemp(), self.naming)
        self._logged = [len(server.log) for server in self.servers]
        self.addCleanup(self.no_tracebacks)
        self.a, self.b = (self.new_client(server) for server in self.servers)
        self.namespace = self.unique("ns")
        answer = await self.a.post("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.assertEqual(answer.code, 201, answer)

    def new_client(self, server: ServerProcess, **headers: str) -> Client:
        """A client with the administrator's certificate, closed at the end of the test."""
        client = Client(server.port, tls_context(server.kubeconfig), headers)
        self.addCleanup(client.close)
        return client

    def unique(self, prefix: str) -> str:
        """A name that no other test has."""
        return f"{prefix}-{next(_names)}"

    def core(self, plural: str, *rest: str) -> str:
        """The path of a core resource in the test's namespace."""
        return "/".join(("/api/v1/namespaces", self.namespace, plural, *rest))

    def group(self, group_version: str, plural: str, *rest: str) -> str:
        """The path of a named group's resource in the test's namespace."""
        return self.cluster_wide(group_version, "namespaces", self.namespace, plural, *rest)

    def cluster_wide(self, group_version: str, *rest: str) -> str:
        """The path of what lies below a version of a group, which is named neutrally."""
        return "/".join(("/apis", self.naming.api_version(group_version), *rest))

    async def until(self, done: Any) -> Any:
        """Ask again and again until the coroutine function answers something true; that."""
        deadline = reactor.seconds() + PATIENCE_S
        while not (answer := await done()):
            self.assertLess(reactor.seconds(), deadline, "it does not happen")
            await deferLater(reactor, 0.02)
        return answer

    def no_tracebacks(self) -> None:
        """No server failed by itself."""
        for server, logged in zip(self.servers, self._logged, strict=True):
            said = server.log[logged:] + server.errors
            for word in TRACEBACKS:
                self.assertNotIn(word, said, said)
