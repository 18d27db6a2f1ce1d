"""Objects of aggregated API servers as items: their metadata, checked, since other programs wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import attrs
import msgspec

from orchtw.client.aggregated.answers import made
from orchtw.client.owner_references import OwnerMetadata
from orchtw.errors import InternalError
from orchtw.wire.objects import Object

_TEXTS: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
_OF_LISTS: Final = ("resourceVersion", "continue")
_OF_OWNERS: Final = ("apiVersion", "kind", "name", "uid")


@attrs.frozen(slots=True, eq=False)
class RemoteItem:
    """An object of an aggregated server; one from a list or watch has only its metadata."""

    _object: Object
    _owner_metadata: OwnerMetadata

    @classmethod
    def of(cls, obj: Any) -> RemoteItem:
        """Return the item of an object. Raises InternalError (500) if it has no metadata."""
        meta = obj.get("metadata") if isinstance(obj, dict) else None
        if not isinstance(meta, dict) or not meta.get("name") or not _is_readable(meta):
            raise made(InternalError, "the aggregated API server returned something other than an object")
        for name in ("uid", "resourceVersion"):
            meta[name] = meta.get(name) or ""
        return cls(obj, OwnerMetadata.of(meta))

    @property
    def key(self) -> str:
        """Key of the object. See `Item`, also for the members below."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def namespace(self) -> str:
        return str(self._meta.get("namespace") or "")

    @property
    def name(self) -> str:
        return str(self._meta["name"])

    @property
    def version(self) -> str:
        return str(self._meta.get("resourceVersion") or "")

    @property
    def size_bytes(self) -> int:
        return 0

    def owner_metadata(self) -> OwnerMetadata:
        return self._owner_metadata

    def stands_alone(self) -> bool:
        return False

    def metadata(self) -> Object:
        return deepcopy(self._meta)

    def load(self) -> Object:
        return deepcopy(self._object)

    @property
    def _meta(self) -> Object:
        meta: Object = self._object["metadata"]
        return meta


def _is_readable(meta: Mapping[str, Any]) -> bool:
    """Report whether all fields that are used have the right type."""
    owners, finalizers = meta.get("ownerReferences"), meta.get("finalizers")
    return (
        _has_texts(meta, _TEXTS)
        and _is_list(owners, dict)
        and _is_list(finalizers, str)
        and all(_has_texts(owner, _OF_OWNERS) for owner in owners or ())
    )


def _has_texts(found: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    return all(found.get(name) is None or isinstance(found[name], str) for name in names)


def _is_list(found: Any, kind: type) -> bool:
    return found is None or (isinstance(found, list) and all(isinstance(each, kind) for each in found))


class PageOfItems(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a list, and the continue token of the next one."""

    items: Sequence[RemoteItem]
    version: str
    token: str

    @classmethod
    def of(cls, found: Object) -> PageOfItems:
        """Return the page of a list. Raises InternalError (500) for anything else."""
        items, meta = found.get("items"), found.get("metadata") or {}
        if not _is_list(items, dict) or not isinstance(meta, dict) or not _has_texts(meta, _OF_LISTS):
            raise made(InternalError, "the aggregated API server returned something other than a list")
        read = [RemoteItem.of(obj) for obj in items or ()]
        return cls(items=read, version=meta.get("resourceVersion") or "", token=meta.get("continue") or "")
