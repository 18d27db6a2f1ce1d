"""Where objects are kept: the Store interface, its backends, the cache over it and the conformance tests.

No API rules live here: a store knows keys, bytes and revisions. `STORES` makes what `--storage-backend` can name;
only the chosen backend is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchtw.config import Config
from orchtw.plugins import StoragePlugin
from orchtw.storage.interface import Store, StoreHost


def _sqlite(host: StoreHost, config: Config) -> Store:
    from orchtw.storage.sqlite.store import in_folder

    return in_folder(host, config)


def _etcd(host: StoreHost, config: Config) -> Store:
    from orchtw.storage.etcd.opening import in_cluster

    return in_cluster(host, config)


MakeStore = Callable[[StoreHost, Config], Store]

STORES: Mapping[str, MakeStore] = MappingProxyType({"sqlite": _sqlite, "etcd3": _etcd})
"""Factories by name: each makes the store that the flags ask for, yet to be probed and started."""


def factory(config: Config) -> MakeStore:
    """The factory of `--storage-backend`, built in or a plugin's; the name has been checked."""
    backend = config.backend
    return STORES[backend] if backend in STORES else config.plugins.of(StoragePlugin)[backend].make
