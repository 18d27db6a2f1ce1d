"""Reading the entries of a cache that were loaded without a look into their values."""

from __future__ import annotations

from typing import Protocol
from weakref import ref

from orchtw.storage.cache.resource import StoredResource
from orchtw.watch.entry import Entry, Glance, LabelSets, Texts


class LoadedCache(Protocol):
    """The part of a `ResourceCache` that a look at one of its entries changes."""

    raw_bytes: int

    def spoilt(self, entry: Entry, error: Exception) -> Exception:
        """Set aside an entry whose value is not an object."""


class Looks:
    """The `Look` of all unread entries of one cache.

    These hold it, so it must not hold the cache, nor after `detach` what does: of a resource that is gone, entries
    would keep each other until the next search for reference cycles. `labels` and `texts` are shared with the cache.
    """

    def __init__(self, cache: LoadedCache, resource: StoredResource, labels: LabelSets, texts: Texts) -> None:
        self._cache = ref(cache)
        self._resource = resource
        self._labels = labels
        self._texts = texts

    def __call__(self, entry: Entry, value: bytes) -> Glance:
        """See `Look`: what is shown of an object that cannot be read is not there for long."""
        cache = self._cache()
        try:
            labels, fields, raw, other = self._resource.glance(value, entry.revision)
        except Exception as error:  # noqa: BLE001 - what `load` would have set aside
            if cache is not None:
                cache.spoilt(entry, error)
            nameplate = self._resource.placeholder(entry.namespace, entry.name, entry.revision)
            labels, fields, raw, other = nameplate.labels, nameplate.fields, nameplate.raw, None
        if cache is not None:
            cache.raw_bytes += len(raw) - len(value)
        return self._labels.share(labels), share_fields(self._texts, fields), raw, other

    def detach(self, resource: StoredResource) -> None:
        """Go on with `resource`, which does not know the cache."""
        self._resource = resource


def share_fields(texts: Texts, fields: tuple[str, ...]) -> tuple[str, ...]:
    """The same fields with texts that other entries have too."""
    return tuple(map(texts.share, fields)) if fields else fields
