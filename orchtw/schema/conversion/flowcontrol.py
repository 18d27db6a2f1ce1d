"""Priority levels: shares have another name since v1beta3, and may be 0 since v1 (reference FLOW-15).

Stored are levels of v1beta2. In v1beta3, where 0 stands for the default, an annotation says that 0 is meant.
"""

from __future__ import annotations

from typing import Final

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.convert import Conversions
from orchtw.wire.objects import Object

_GROUP: Final = "flowcontrol.apiserver.orch.io"
PRESERVE_ZERO: Final = "flowcontrol.orch.io/v1beta3-preserve-zero-concurrency-shares"
"""Annotation that marks shares of 0 in v1beta3 as set, not absent."""
OLD_SHARES: Final = "assuredConcurrencyShares"
SHARES: Final = "nominalConcurrencyShares"


def level_to_v1(level: Object, naming: Naming) -> Object:
    """Give the shares their new name."""
    return _renamed(level, OLD_SHARES, SHARES)


def level_from_v1(level: Object, naming: Naming) -> Object:
    """Give the shares their old name."""
    return _renamed(level, SHARES, OLD_SHARES)


def level_to_v1beta3(level: Object, naming: Naming) -> Object:
    """Give the shares their new name, and annotate a level whose shares are 0."""
    found = _renamed(level, OLD_SHARES, SHARES)
    limited = (found.get("spec") or {}).get("limited")
    if limited is None or limited.get(SHARES) != 0:
        return found
    return _annotated(found, {**(found["metadata"].get("annotations") or {}), naming.translate(PRESERVE_ZERO): ""})


def level_from_v1beta3(level: Object, naming: Naming) -> Object:
    """Give the shares their old name, without the annotation."""
    found, annotation = _renamed(level, SHARES, OLD_SHARES), naming.translate(PRESERVE_ZERO)
    annotations = (found.get("metadata") or {}).get("annotations") or {}
    if annotation not in annotations:
        return found
    return _annotated(found, {key: value for key, value in annotations.items() if key != annotation})


def _renamed(level: Object, old: str, new: str) -> Object:
    spec = level.get("spec") or {}
    limited = spec.get("limited")
    if limited is None or old not in limited:
        return dict(level)
    # Shares that are absent in v1 before its default is filled in are 0 elsewhere.
    changed = {new if key == old else key: value or 0 if key == old else value for key, value in limited.items()}
    return {**level, "spec": {**spec, "limited": changed}}


def _annotated(level: Object, annotations: dict[str, str]) -> Object:
    metadata = dict(level["metadata"])
    if annotations:
        kept = {
            key: metadata.pop(key) for key in ("ownerReferences", "finalizers", "managedFields") if key in metadata
        }
        metadata.pop("annotations", None)
        metadata = {**metadata, "annotations": dict(sorted(annotations.items())), **kept}
    else:
        metadata.pop("annotations", None)
    return {**level, "metadata": metadata}


LEVEL_CONVERSIONS = Conversions(
    {(f"{_GROUP}/{old}", f"{_GROUP}/v1"): level_to_v1 for old in ("v1beta1", "v1beta2")}
    | {(f"{_GROUP}/v1", f"{_GROUP}/{old}"): level_from_v1 for old in ("v1beta1", "v1beta2")}
    | {(f"{_GROUP}/{old}", f"{_GROUP}/v1beta3"): level_to_v1beta3 for old in ("v1beta1", "v1beta2")}
    | {(f"{_GROUP}/v1beta3", f"{_GROUP}/{old}"): level_from_v1beta3 for old in ("v1beta1", "v1beta2")},
    hub=f"{_GROUP}/v1beta2",
)
