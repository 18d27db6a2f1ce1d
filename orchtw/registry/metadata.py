"""Metadata of stored objects: the order of its keys, fields of the server, annotations (reference OBJ-4, OBJ-5)."""

from __future__ import annotations

from typing import Any

ORDER = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""Keys of ObjectMeta in emission order; selfLink and clusterName are gone and dropped on write."""

KEPT_ON_UPDATE = ("generateName", "uid", "creationTimestamp")
"""Fields that an update cannot change: the stored value silently stays."""

_DELETION_TIME, _GRACE_PERIOD = "deletionTimestamp", "deletionGracePeriodSeconds"


def ordered(meta: dict[str, Any]) -> dict[str, Any]:
    """Return `meta` in emission order, with an empty resourceVersion and a creationTimestamp.

    The resourceVersion's place is kept so that the commit's revision can be filled in without a new dict.
    """
    meta.setdefault("creationTimestamp", None)
    meta["resourceVersion"] = ""
    return {key: meta[key] for key in ORDER if key in meta}


def put_annotation(meta: dict[str, Any], key: str, value: str) -> None:
    """Set an annotation at its place among the others."""
    meta["annotations"] = dict(sorted({**(meta.get("annotations") or {}), key: value}.items()))


def drop_annotation(meta: dict[str, Any], key: str) -> None:
    """Take an annotation away, if it is there."""
    annotations = meta.get("annotations") or {}
    if key in annotations:
        kept = {name: value for name, value in annotations.items() if name != key}
        meta.pop("annotations")
        if kept:
            meta["annotations"] = kept


def keep_server_fields(new: dict[str, Any], old: dict[str, Any]) -> None:
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
