"""Storage of objects: the Store interface, its backends, the cache over it and the conformance tests.

No API rules live here: a store knows keys, bytes and revisions. `STORES` makes the backends that
`--storage-backend` names; only the chosen backend is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchtw.config.storage import StorageOptions
from orchtw.plugins import Plugins, StoragePlugin
from orchtw.storage.store import Store, StoreHost


def _sqlite(host: StoreHost, options: StorageOptions) -> Store:
    from orchtw.storage.sqlite.store import in_folder

    return in_folder(host, options)


def _etcd(host: StoreHost, options: StorageOptions) -> Store:
    from orchtw.storage.etcd.opening import in_cluster

    return in_cluster(host, options)


def _memory(host: StoreHost, options: StorageOptions) -> Store:
    from orchtw.storage.memory.store import in_process

    return in_process(host, options)


MakeStore = Callable[[StoreHost, StorageOptions], Store]

STORES: Mapping[str, MakeStore] = MappingProxyType({"sqlite": _sqlite, "etcd3": _etcd, "memory": _memory})
"""Factories by name: each makes the store that the flags ask for, yet to be probed and started."""


def make_store(host: StoreHost, options: StorageOptions, installed: Plugins) -> Store:
    """Return the store of `--storage-backend`, built in or a plugin's, yet to be probed and started; the name is
    known.

    Raises ConfigError for files that cannot be used.
    """
    if options.backend in STORES:
        return STORES[options.backend](host, options)
    made: Store = installed.of(StoragePlugin)[options.backend].make(host, installed.values)
    return made
