"""Managed fields seen through /scale: who owns the parent's replicas, and back (supplement B6, sub-resources)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.apply.field_set import FieldSet, Path
from orchtw.apply.managed import APPLY, Entry, Managed, Owned, Owner, decode, encode
from orchtw.apply.merge_type import UNTYPED_OBJECT, MapType

SCALE_VERSION = "autoscaling/v1"
_SCALE_REPLICAS = FieldSet.of(("spec", "replicas"))

ReplicasPaths = Mapping[str, Path]
"""apiVersion of the parent → path of its replicas, a leaf."""


def scale_entries(parent: list[Entry], paths: ReplicasPaths) -> list[Entry]:
    """The entries of the Scale: the parent's owners of replicas. Raises ManagedFieldsError."""
    return encode(
        {
            _seen_in(SCALE_VERSION, owner): Owned(_SCALE_REPLICAS, SCALE_VERSION, owned.time)
            for owner, owned in decode(parent, _untyped).items()
            if _owns_replicas(owned, paths)
        }
    )


def parent_entries(parent: list[Entry], scale: list[Entry], paths: ReplicasPaths, api_version: str) -> list[Entry]:
    """The parent's entries after a write through /scale left the Scale's entries `scale`.

    Who lost the replicas there loses them in the parent; who won them owns them as of `api_version`. Raises
    ManagedFieldsError.
    """
    out: Managed = {}
    winners = decode(scale, _untyped)
    for owner, owned in decode(parent, _untyped).items():
        if _owns_replicas(owned, paths) and winners.pop(_seen_in(SCALE_VERSION, owner), None) is None:
            owned = owned.replaced(owned.fields.difference(FieldSet.of(paths[owned.api_version])))
        out[owner] = owned
    replicas = FieldSet.of(paths[api_version])
    for owner, owned in winners.items():
        winner = _seen_in(api_version, owner)
        before = out.get(winner)
        fields = before.fields.union(replicas) if before else replicas
        out[winner] = Owned(fields, api_version, owned.time)
    return encode(out)


def _owns_replicas(owned: Owned, paths: ReplicasPaths) -> bool:
    path = paths.get(owned.api_version)
    return path is not None and owned.fields.has(*path)


def _seen_in(api_version: str, owner: Owner) -> Owner:
    return owner if owner.operation == APPLY else owner._replace(api_version=api_version)


def _untyped(api_version: str) -> MapType:
    return UNTYPED_OBJECT
