"""`orch-store migrate` without a running server: rewrites objects that are stored in an older form (STORE-21).

A server without listener and controllers opens the store, so that conversions and webhooks are those of a client's
write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from orchtw.assembly.flags import parse
from orchtw.assembly.membership import ServerKeys
from orchtw.assembly.store import claim_store
from orchtw.bootstrap.ensurer import system_user
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.commands.store.outcome import Migrated
from orchtw.errors import StatusError
from orchtw.logs.progress import Progress
from orchtw.naming.naming import Naming
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.server import Server
from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.wire.objects import Object
from orchtw.writes.write_path import WritePath

PORT = 6443


async def migrate(
    where: Sequence[str], vocabulary: str, sealing: Path | None, reactor: Any, complain: Callable[[str], None]
) -> Migrated:
    """Rewrite the store given by the server's flags `where`; report failed objects to `complain`.

    Raises ConfigError for an unusable store.
    """
    flags = [*where, f"--vocabulary={vocabulary}", "--bootstrap=false", "--controllers=-*"]
    if sealing is not None:
        flags.append(f"--encryption-provider-config={sealing}")
    config = parse(flags)
    naming = Naming.of(vocabulary)
    store = claim_store(config, naming, reactor)
    place, keys = ServerPlace("127.0.0.1", PORT), ServerKeys(secret=os.urandom(32))
    server = Server(config, naming, reactor, store=store, place=place, keys=keys)
    try:
        await server.lifecycle.start()
        return await _rewrite(server, naming, complain)
    finally:
        await server.lifecycle.stop()


async def _rewrite(server: Server, naming: Naming, complain: Callable[[str], None]) -> Migrated:
    result = Migrated()
    homes = list(server.resources.targets.homes())
    with Progress("rewriting", sum(len(target.stored.cache.snapshot()) for target in homes)) as progress:
        for target in homes:
            await _rewrite_kind(server, target, naming, complain, result, progress)
    return result


async def _rewrite_kind(
    server: Server,
    target: Target,
    naming: Naming,
    complain: Callable[[str], None],
    result: Migrated,
    progress: Progress,
) -> None:
    stored = target.stored
    for key, problem in _unreadable(stored.cache):
        result.failed += 1
        complain(f"{stored.prefix}{key}: {problem}")
    entries = list(stored.cache.snapshot())
    result.seen += len(entries)
    for entry in entries:
        progress.advance()
        if stored.is_current(entry) and not stored.cache.outdated(entry.key):
            continue
        write = _write(target, entry.namespace, entry.name, naming)
        try:
            await _write_anew(server.writes, write)
            result.written += 1
        except StatusError as error:
            result.failed += 1
            complain(f"{stored.prefix}{entry.key}: {error.message}")


def _unreadable(cache: ResourceCache) -> Iterator[tuple[str, str]]:
    yield from cache.locked.items()
    for key in cache.damaged:
        yield key, "is damaged"


def _write(target: Target, namespace: str, name: str, naming: Naming) -> Write:
    """Return a write by the server itself, which does not change field ownership."""
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
