"""`orch-store migrate` without a server: whatever is kept in an older form is written anew (STORE-21).

The whole of a server but its network and its controllers works on the store, so that conversions, webhooks and all
are those that a client's write would pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from orchtw.assembly.flags import parse
from orchtw.assembly.instance import Instance
from orchtw.assembly.store import claim_store
from orchtw.bootstrap.maker import system_user
from orchtw.commands.store.outcome import Migrated
from orchtw.errors import StatusError
from orchtw.naming.names import Naming
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.wire.objects import Object
from orchtw.writes.write_path import WritePath

PORT = 6443


async def migrate(
    where: Sequence[str], vocabulary: str, sealing: Path | None, reactor: Any, complain: Callable[[str], None]
) -> Migrated:
    """Rewrite the store that the flags `where` name; `complain` is told of each object that could not be.

    Raises ConfigError for a store that cannot be used.
    """
    flags = [*where, f"--vocabulary={vocabulary}", "--bootstrap=false", "--controllers=-*"]
    if sealing is not None:
        flags.append(f"--encryption-provider-config={sealing}")
    config = parse(flags)
    naming = Naming.of(vocabulary)
    store = claim_store(config, naming, reactor)
    instance = Instance(config, naming, reactor, store=store, address="127.0.0.1", port=PORT, secret=os.urandom(32))
    try:
        await instance.start()
        return await _rewrite(instance, naming, complain)
    finally:
        await instance.stop()


async def _rewrite(instance: Instance, naming: Naming, complain: Callable[[str], None]) -> Migrated:
    result = Migrated()
    for target in instance.resources.targets.homes():
        stored = target.stored
        for key, problem in _unreadable(stored.cache):
            result.failed += 1
            complain(f"{stored.prefix}{key}: {problem}")
        entries = list(stored.cache.snapshot())
        result.seen += len(entries)
        for entry in entries:
            if stored.is_current(entry) and not stored.cache.outdated(entry.key):
                continue
            write = _write(target, entry.namespace, entry.name, naming)
            try:
                await _write_anew(instance.writes, write)
                result.written += 1
            except StatusError as error:
                result.failed += 1
                complain(f"{stored.prefix}{entry.key}: {error.message}")
    return result


def _unreadable(cache: ResourceCache) -> Iterator[tuple[str, str]]:
    yield from cache.locked.items()
    for key in cache.damaged:
        yield key, "is damaged"


def _write(target: Target, namespace: str, name: str, naming: Naming) -> Write:
    """Return a write of the server's own, which leaves the owners of fields as they are."""
    return Write(
        target=target,
        namespace=namespace,
        name=name,
        user=system_user(naming),
        from_live=True,
        admitted=True,
        own=True,
    )


async def _write_anew(writes: WritePath, write: Write) -> None:
    def same(live: Object | None) -> Object:
        assert live is not None
        live["metadata"].pop("resourceVersion", None)
        return live

    await writes.update(write, same)
