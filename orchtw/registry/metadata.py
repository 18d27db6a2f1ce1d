"""Metadata of stored objects: the order of its keys, and annotations (reference OBJ-4)."""

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
