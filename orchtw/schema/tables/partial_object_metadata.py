"""PartialObjectMetadata and its list: an object reduced to its metadata (reference TABLE-9)."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.wire.objects import Object


def partial_metadata(obj: Object, api_version: str) -> Object:
    """Return the metadata of the canonical `obj` as a canonical PartialObjectMetadata of `api_version`."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": api_version,
        "metadata": obj["metadata"],
    }


def partial_metadata_list(meta: Object, objects: Iterable[Object], api_version: str) -> Object:
    """Return the metadata of each object, under the list's own `meta`; items carry kind and apiVersion."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": api_version,
        "metadata": meta,
        "items": [partial_metadata(obj, api_version) for obj in objects],
    }
