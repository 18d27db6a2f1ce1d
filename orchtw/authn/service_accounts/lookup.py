"""Cached state of the objects that service account tokens depend on."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

import attrs

from orchtw.errors import InternalError
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.values.times import parse_time
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

GRACE_S: Final = 60
"""Time after its deletion timestamp in which an object still validates its tokens, so that a pod can shut down."""


@attrs.frozen(slots=True, eq=False)
class Bearer:
    """A state of an object that tokens refer to: its cache entry, its uid, and when its tokens become invalid.

    `ends` is in seconds since the epoch; 0: never.
    """

    entry: Entry
    uid: str
    ends: float


class ServiceAccountLookup:
    """Lookup of service accounts, Secrets and pods in their caches."""

    def __init__(self, targets: Targets) -> None:
        kinds = ("serviceaccounts", "secrets", "pods")
        self._kinds = {plural: targets.stored_target("", "v1", plural).stored for plural in kinds}

    def find(self, plural: str, namespace: str, name: str) -> Entry | None:
        """Return the object's current entry; None also if it cannot be decoded."""
        try:
            return self._kinds[plural].get(namespace, name)
        except InternalError:
            return None

    def read(self, plural: str, entry: Entry) -> Bearer:
        """Return the part of an object's state that the token check needs."""
        meta = self._kinds[plural].metadata(entry, owned=False)
        deleted = meta.get("deletionTimestamp")
        ends = parse_time(deleted)[0] + float(GRACE_S) if deleted else 0.0
        return Bearer(entry, str(meta.get("uid", "")), ends)

    def load(self, plural: str, entry: Entry) -> Object:
        """Decode the whole object."""
        return self._kinds[plural].load(entry)

    def due(self, plural: str) -> Awaitable[None] | None:
        """Return an awaitable to wait for before an object counts as missing, or None if the cache is up to date."""
        return self._kinds[plural].cache.freshness.due(MOST_RECENT)
