"""Reading the entries of a cache that were loaded without a look into their values."""

from __future__ import annotations

from typing import Protocol
from weakref import ref

from orchtw.storage.cache.resource import StoredResource
from orchtw.watch.entry import Entry, Glance, LabelSets, Texts


class LoadedCache(Protocol):
    """The part of a `ResourceCache` that a look at one of its entries changes."""

    def looked(self, entry: Entry, more: int) -> None:
        """Note that an entry, if it is still there, takes so many bytes more."""

    def spoilt(self, entry: Entry, error: Exception) -> Exception:
        """Set aside an entry whose value is not an object."""


class Looks:
    """Reader (`Look`) of all unread entries of one cache.

    The entries hold it, so it must not hold the cache, nor, after `detach`, a resource that does: the entries of a
    removed resource would wait for the cyclic garbage collector. `labels` and `texts` are shared with the cache.
    """

    def __init__(self, cache: LoadedCache, resource: StoredResource, labels: LabelSets, texts: Texts) -> None:
        self._cache = ref(cache)
        self._resource = resource
        self._labels = labels
        self._texts = texts

    def __call__(self, entry: Entry, value: bytes) -> Glance:
        """Read an entry's value, as `Look`; one that cannot be read gets a placeholder and is soon set aside."""
        cache = self._cache()
        try:
            labels, fields, raw, other = self._resource.glance(value, entry.revision)
        except Exception as error:  # noqa: BLE001 - what `load` would have set aside
            if cache is not None:
                cache.spoilt(entry, error)
            nameplate = self._resource.placeholder(entry.namespace, entry.name, entry.revision)
            labels, fields, raw, other = nameplate.labels, nameplate.fields, nameplate.raw, None
        if cache is not None:
            cache.looked(entry, len(raw) - len(value))
        return self._labels.share(labels), share_fields(self._texts, fields), raw, other

    def detach(self, resource: StoredResource) -> None:
        """Continue with `resource`, which does not refer to the cache."""
        self._resource = resource


def share_fields(texts: Texts, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the same fields, sharing their texts with other entries."""
    return tuple(map(texts.share, fields)) if fields else fields
