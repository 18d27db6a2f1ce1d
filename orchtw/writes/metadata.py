"""Metadata of writes: a new object's identity and times, managed fields, comparisons (reference OBJ-3, OBJ-4)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from orchtw.apply.managed_fields import with_old_times
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """Sources of generated values: the time in seconds since the epoch and new UIDs."""

    now: Callable[[], float]
    new_uid: Callable[[], str]

    def timestamp(self) -> str:
        """Return the present time as metadata holds it."""
        return rfc3339(int(self.now()))

    def created(self, meta: Object) -> None:
        """Fill the identity of a new object."""
        meta["uid"] = self.new_uid()
        meta["creationTimestamp"] = self.timestamp()


def drop_deletion(meta: Object) -> None:
    """Take from the metadata of a new object what only a deletion may write."""
    meta.pop("deletionTimestamp", None)
    meta.pop("deletionGracePeriodSeconds", None)


def without_version(obj: Object) -> Object:
    """Return a shallow copy of `obj` whose metadata lacks the version, for comparisons."""
    meta = dict(obj["metadata"])
    meta.pop("resourceVersion", None)
    return {**obj, "metadata": meta}


def keep_times(new: Object, old: Object) -> None:
    """Keep the old times of unchanged field owners: a time alone is not a change (reference APPLY-23)."""
    set_owners(new, with_old_times(new.get("managedFields"), old.get("managedFields")))


def set_owners(meta: Object, owners: list[Object] | None) -> None:
    """Set metadata.managedFields as the last key, or remove it."""
    meta.pop("managedFields", None)
    if owners:
        meta["managedFields"] = owners
