"""Metadata that the server writes, and that clients cannot change (reference OBJ-3 to OBJ-5)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from orchtw.apply.managed_fields import with_old_times
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

KEPT_ON_UPDATE = ("generateName", "uid", "creationTimestamp")
"""Fields that an update cannot change: the stored value silently stays."""

_DELETION_TIME, _GRACE_PERIOD = "deletionTimestamp", "deletionGracePeriodSeconds"


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
    meta.pop(_DELETION_TIME, None)
    meta.pop(_GRACE_PERIOD, None)


def keep_server_fields(new: Object, old: Object) -> None:
    """Put back into `new` metadata what an update cannot change.

    The marks of a termination stay on an object that has them; on one without, or with another grace period, they are
    left for validation to refuse (reference OBJ-5).
    """
    for key in KEPT_ON_UPDATE:
        if key in old:
            new[key] = old[key]
        else:
            new.pop(key, None)
    if _DELETION_TIME in old:
        new[_DELETION_TIME] = old[_DELETION_TIME]
    if _GRACE_PERIOD in old and new.get(_GRACE_PERIOD) is None:
        new[_GRACE_PERIOD] = old[_GRACE_PERIOD]


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
