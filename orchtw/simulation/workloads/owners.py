"""Owner references of controllers, and indexes by them."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.wire.objects import Object


def controller_of(obj: Object) -> Object | None:
    """Return the owner reference of an object's controller, or None."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Object = owner
            return found
    return None


def controller_reference(owner: Object, api_version: str, kind: str) -> Object:
    """Return the owner reference of a controller, which blocks its deletion in the foreground."""
    meta = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def by_namespace(obj: Object) -> Iterable[str]:
    """Index function: the namespace of an object."""
    return (obj["metadata"]["namespace"],)


def by_controller(obj: Object) -> Iterable[str]:
    """Index function: the uid of an object's controller."""
    owner = controller_of(obj)
    return () if owner is None else (owner["uid"],)


def orphans_by_namespace(obj: Object) -> Iterable[str]:
    """Index function: the namespace of an object without a controller."""
    return (obj["metadata"]["namespace"],) if controller_of(obj) is None else ()
