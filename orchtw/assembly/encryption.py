"""The store behind the keys of `--encryption-provider-config` (reference STORE-14)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.plugins import EncryptionPlugin
from orchtw.plugins.entry_points import Plugins
from orchtw.registry.stored_vocabulary import StoredVocabulary
from orchtw.registry.targets import REGISTRY
from orchtw.storage.encryption.configuration import FLAG, KmsPlugin, read
from orchtw.storage.encryption.metrics import SealingMetrics
from orchtw.storage.encryption.provider import KeyMissing, Provider, Unreadable
from orchtw.storage.encryption.samples import Key
from orchtw.storage.encryption.store import with_keys
from orchtw.storage.encryption.transformers import Transformer, Transformers
from orchtw.storage.store import Translation

NOTHING: Final = Transformers({})
"""Transformers without a configuration file."""


class Sealing(msgspec.Struct, frozen=True):
    """Transformers of each resource, and health checks of key services by name."""

    transformers: Transformers
    checks: Mapping[str, Callable[[], Awaitable[None]]]


def sealing(path: Path, reactor: Any, plugins: Plugins) -> Sealing:
    """Read the configuration at `path`, with the providers of `plugins` beside the built-in ones.

    Raises ConfigError with one line for what is wrong with it.

    A resource that is named twice has the providers of both places, in their order.
    """
    found: dict[str, list[Provider]] = {}
    metrics = SealingMetrics()
    checks: dict[str, Callable[[], Awaitable[None]]] = {}
    for section in read(path, plugins.of(EncryptionPlugin)):
        providers: list[Provider] = []
        for each in section.providers:
            if isinstance(each, KmsPlugin):
                service, check = _service(each, reactor, metrics)
                checks[f"kms-provider-{len(checks)}"] = check
                providers.append(service)
            else:
                providers.append(each)
        for resource in section.resources:
            found.setdefault(_prefix(resource), []).extend(providers)
    by_prefix = {prefix: Transformer(each, metrics=metrics) for prefix, each in found.items()}
    return Sealing(Transformers(by_prefix, metrics), checks)


def keys_by_resource(path: Path | None, plugins: Plugins) -> dict[str, list[Key]]:
    """Return the keys for each resource that the file at `path` names, in order, by the prefix of its keys in the
    store.

    Raises ConfigError.
    """
    found: dict[str, list[Key]] = {}
    for section in () if path is None else read(path, plugins.of(EncryptionPlugin)):
        for resource in section.resources:
            found.setdefault(_prefix(resource), []).extend(section.providers)
    return found


def _service(
    plugin: KmsPlugin, reactor: Any, metrics: SealingMetrics
) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    """Return a key service and its health check."""
    from orchtw.storage.encryption.kms import Kms, KmsHealth
    from orchtw.storage.encryption.kms_client import KmsClient

    service = Kms(plugin.name, KmsClient(plugin.endpoint, plugin.timeout_s, reactor), plugin.cache_size, metrics)
    return service, KmsHealth(service, reactor)


def _prefix(resource: str) -> str:
    """Return the key prefix of `plural` or `plural.group`; the group's name may be of either vocabulary."""
    plural, _, group = resource.partition(".")
    neutral = Naming.kubernetes().neutral(group)
    return f"{REGISTRY}{neutral}/{plural}/" if group else f"{REGISTRY}{plural}/"


class SealedTranslation:
    """Rewrites a store whose values are sealed: each is opened, renamed and sealed for its new place."""

    def __init__(self, inner: Translation, sealing: Transformers) -> None:
        self._inner = inner
        self._sealing = sealing

    def key(self, key: str) -> str:
        """See `Translation`, as `value`."""
        return self._inner.key(key)

    def value(self, key: str, value: bytes) -> bytes:
        """Raises ConfigError besides: half of a store must not stay behind in the old names."""
        try:
            opened = self._sealing.of(key).open(value, key.encode()).value
            new, place = self._inner.value(key, opened), self._inner.key(key)
            return self._sealing.of(place).seal(new, place.encode())
        except Unreadable as problem:
            raise ConfigError(f"{FLAG}: {key} cannot be read, so the store cannot be rewritten: {problem}") from None
        except KeyMissing:
            why = "a store encrypted with keys of a KMS service cannot be rewritten for another vocabulary"
            raise ConfigError(f"{FLAG}: {why}") from None


class SealedEvidence:
    """Recognises the vocabulary of sealed values by opening them."""

    def __init__(self, inner: StoredVocabulary, sealing: Transformers) -> None:
        self._inner = inner
        self._sealing = sealing

    @property
    def prefixes(self) -> Sequence[str]:
        """See `Evidence`, as `vocabulary`."""
        return self._inner.prefixes

    async def vocabulary(self, key: str, value: bytes) -> str:
        opened = await with_keys(partial(self._sealing.of(key).open, value, key.encode()))
        return self._inner.vocabulary(key, opened.value)
