"""Subcommands of `orch-store` on an etcd cluster (reference STORE-34)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, BinaryIO

from orchtw.commands.store import check as checks
from orchtw.commands.store import export as exports
from orchtw.commands.store import migrate as migration
from orchtw.commands.store.etcd import ClusterSource, cluster_flags, import_into, opened, vocabulary_of
from orchtw.commands.store.opening import Opening
from orchtw.commands.store.outcome import Migrated
from orchtw.commands.store.values import StoredValues
from orchtw.naming.naming import Naming

Complain = Callable[[str], None]


async def check(options: argparse.Namespace, reactor: Any, complain: Complain) -> int:
    """Read all objects and report problems; returns the exit status."""
    opening = Opening(options.encryption_provider_config, reactor)
    async with opened(options, reactor, opening.transformers) as store:
        vocabulary, revision = await vocabulary_of(store, options.vocabulary), await store.revision()
        source = ClusterSource(store, vocabulary, revision)
        found = await checks.look(source, opening, StoredValues(Naming.of(vocabulary)))
    print(f"{options.etcd_servers}: vocabulary {vocabulary}, revision {revision}")
    print(f"{sum(found.objects.values())} objects", *checks.summary(found), sep="\n")
    for problem in found.wrong:
        complain(problem)
    return 1 if found.wrong else 0


async def compact(options: argparse.Namespace, reactor: Any) -> int:
    """Compact the history; returns the exit status."""
    async with opened(options, reactor) as store:
        if options.vocabulary:
            await vocabulary_of(store, options.vocabulary)
        revision = await store.revision()
        await store.compact(revision)
    print(f"{options.etcd_servers}: history since {revision}")
    return 0


async def export(options: argparse.Namespace, reactor: Any, output: BinaryIO, complain: Complain) -> int:
    """Write a line for each object; returns the number of unreadable ones."""
    opening = Opening(options.encryption_provider_config, reactor)
    async with opened(options, reactor, opening.transformers) as store:
        vocabulary = await vocabulary_of(store, options.vocabulary)
        source = ClusterSource(store, vocabulary, await store.revision())
        return await exports.export(source, opening, StoredValues(Naming.of(vocabulary)), output, complain)


async def import_lines(options: argparse.Namespace, reactor: Any, source: BinaryIO) -> int:
    """Import into an empty cluster; returns the exit status."""
    opening = Opening(options.encryption_provider_config, reactor)
    async with opened(options, reactor, opening.transformers) as store:
        count = await import_into(store, source, options.vocabulary, opening)
    print(f"{options.etcd_servers}: {count} objects")
    return 0


async def migrate(options: argparse.Namespace, reactor: Any, complain: Complain) -> Migrated:
    """Rewrite objects that are stored in an older form."""
    sealing = options.encryption_provider_config
    async with opened(options, reactor, Opening(sealing, reactor).transformers) as store:
        vocabulary = await vocabulary_of(store, options.vocabulary)
    return await migration.migrate(cluster_flags(options), vocabulary, sealing, reactor, complain)
