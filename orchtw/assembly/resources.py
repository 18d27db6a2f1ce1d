"""The served resources: their types and codecs, the store that keeps their objects, and the caches over it."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IReactorTime

from orchtw.config import Config
from orchtw.naming.names import Naming
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.checks import checks, consequences
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.rules.runtime_config import enabled
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.storage.cache.cacher import Cacher
from orchtw.storage.interface import Store
from orchtw.watch.log import HISTORY_S


class Resources:
    """Base of all other parts: catalogue, codecs, caches; `store` is the result of `claim_store`.

    `offload` are the threads for computations that take long; `unsettled` is what quotas are charged for writes on
    their way.
    """

    def __init__(self, config: Config, naming: Naming, reactor: Any, store: Store) -> None:
        self.naming = naming
        self.clock: IReactorTime = reactor
        self.store = store
        self.offload = Offload(reactor)
        self.unsettled = Unsettled()
        self.catalogue = Catalogue.load(naming)
        self.codecs = Codecs(
            self.catalogue, checks(naming, allow_privileged=config.cluster.allow_privileged), consequences()
        )
        self.enabled = enabled(self.catalogue, config.generic.runtime_config)
        self.targets = Targets(self.catalogue, self.codecs, self.enabled)
        self.cacher = Cacher(
            store,
            reactor,
            lambda flush: reactor.callLater(0, flush),
            limit_bytes=config.storage.watch_cache_bytes,
            history_s=config.storage.etcd.compaction_interval_s or HISTORY_S,
        )

    async def start(self) -> None:
        """Open the store and fill the caches. Raises ConfigError for a store that is damaged or in use."""
        self.offload.start()
        await self.store.start()
        await self.targets.open(self.cacher)

    async def stop(self) -> None:
        """Stop following the store, commit what was accepted, and close it."""
        await self.cacher.stop()
        await self.store.stop()
        self.offload.stop()

    @property
    def objects(self) -> int:
        """Return the number of stored objects."""
        return sum(map(len, self.cacher.caches))
