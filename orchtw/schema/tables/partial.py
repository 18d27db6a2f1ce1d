"""PartialObjectMetadata and its list: an object reduced to its metadata (reference TABLE-9)."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.naming import Naming
from orchtw.objects import Object


def partial_metadata(obj: Object, naming: Naming, version: str = "v1") -> Object:
    """The metadata of the canonical `obj` as a PartialObjectMetadata of the meta group's `version`; canonical."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{naming.meta_group}/{version}",
        "metadata": obj["metadata"],
    }


def partial_metadata_list(meta: Object, objects: Iterable[Object], naming: Naming, version: str = "v1") -> Object:
    """The metadata of each object, under the list's own `meta`; items carry kind and apiVersion."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"{naming.meta_group}/{version}",
        "metadata": meta,
        "items": [partial_metadata(obj, naming, version) for obj in objects],
    }
