"""The objects that tokens depend on, as the caches have them."""

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
"""For so long a terminating object still carries its tokens, so that a pod can end in order."""


@attrs.frozen(slots=True, eq=False)
class Bearer:
    """A state of an object that a token names: its entry, its uid, and when it ends to carry tokens (0: never)."""

    entry: Entry
    uid: str
    ends: float


class ServiceAccountLookup:
    """Looks at service accounts, Secrets and pods."""

    def __init__(self, targets: Targets) -> None:
        kinds = ("serviceaccounts", "secrets", "pods")
        self._kinds = {plural: targets.stored_target("", "v1", plural).stored for plural in kinds}

    def find(self, plural: str, namespace: str, name: str) -> Entry | None:
        """The object's present state; None also for one that cannot be read."""
        try:
            return self._kinds[plural].get(namespace, name)
        except InternalError:
            return None

    def read(self, plural: str, entry: Entry) -> Bearer:
        """Return what the token check needs of an object's state."""
        meta = self._kinds[plural].metadata(entry, owned=False)
        deleted = meta.get("deletionTimestamp")
        ends = parse_time(deleted)[0] + float(GRACE_S) if deleted else 0.0
        return Bearer(entry, str(meta.get("uid", "")), ends)

    def load(self, plural: str, entry: Entry) -> Object:
        """Decode the whole object."""
        return self._kinds[plural].load(entry)

    def due(self, plural: str) -> Awaitable[None] | None:
        """Return what to await before an object counts as missing, or None."""
        return self._kinds[plural].cache.freshness.due(MOST_RECENT)
