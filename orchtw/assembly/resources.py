"""The served resources: their types and codecs, the store that keeps their objects, and the caches over it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from twisted.internet.interfaces import IReactorTime

from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.checks import checks, consequences
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.rules.runtime_config import GATED, enabled
from orchtw.schema.additions import Additions
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Store
from orchtw.watch.event_log import HISTORY_S


@lru_cache(maxsize=4)
def _release(
    naming: Naming, additions: Additions, allow_privileged: bool, gates: frozenset[tuple[str, bool]]
) -> Codecs:
    """Return the codecs of the release under these options; the servers of one process share what they compile."""
    found = checks(naming, allow_privileged=allow_privileged, gates=dict(gates))
    return Codecs(Catalogue.load(naming, additions), found, consequences())


class Resources:
    """Base of all other parts: catalogue, codecs, caches; `store` is the result of `claim_store`.

    `offload`: threads for long computations. `unsettled`: what quotas are charged for writes on their way.
    """

    def __init__(self, config: Config, naming: Naming, reactor: Any, store: Store) -> None:
        self.naming = naming
        self.clock: IReactorTime = reactor
        self.store = store
        self.offload = Offload(reactor)
        self.unsettled = Unsettled()
        generic = config.generic
        additions = Additions.of(generic.emulated, generic.gates, generic.gate_defaults)
        release = _release(naming, additions, config.cluster.allow_privileged, frozenset(generic.gates.items()))
        self.codecs = release.of_release()
        self.catalogue = release.catalogue
        self.enabled = tuple(
            each
            for each in enabled(self.catalogue, config.generic.runtime_config)
            if generic.gates.get(GATED.get(f"{each.plural}.{naming.neutral(each.group)}", ""), True)
        )
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
