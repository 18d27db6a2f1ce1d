"""Translation of a store into another vocabulary, key by key and value by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchtw.naming.naming import Naming
from orchtw.registry.targets import storage_prefix
from orchtw.renaming.whole_objects import ObjectRenaming
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap, wrap
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.kinds import GroupKind


class StoredNames:
    """Translation of keys and values from the vocabulary `old` to `new`; a `storage.store.Translation`."""

    def __init__(self, old: Naming, new: Naming) -> None:
        catalogue = Catalogue.load(new)
        self._codecs = Codecs(catalogue)
        self._objects = ObjectRenaming(old, self._codecs)
        self._old = old
        self._naming = new
        self._homes = {storage_prefix(each, new): each for each in homes(catalogue)}

    def key(self, key: str) -> str:
        """Return the key of an object in the new vocabulary; keys of unknown resources stay."""
        found = self._find(key)
        if found is None:
            return key
        prefix, home, parts = found
        namespace = parts[0] if home.namespaced else ""
        place = self._objects.place(GroupKind.of(home.group, home.kind, self._naming), namespace, parts[-1])
        return prefix + "/".join(place if home.namespaced else place[1:])

    def value(self, key: str, value: bytes) -> bytes:
        """Return the value of the object with the old `key`. Raises StatusError or ValueError if it cannot be
        decoded.
        """
        found = self._find(key)
        if found is None:
            return value
        codec, raw = self._unwrapped(value, found[1])
        obj = codec.decode_protobuf(raw)
        new = self._objects.translate(obj)
        return wrap(codec.api_version, codec.kind, raw if new is obj else codec.encode_protobuf(new))

    def _unwrapped(self, value: bytes, home: ResourceType) -> tuple[KindCodec, bytes]:
        """Return the inner message and its codec, of the version that the value names and keeps."""
        api_version, kind, raw = unwrap(value)
        group, slash, version = api_version.rpartition("/")
        renamed = f"{self._naming.group(self._old.neutral(group))}{slash}{version}"
        try:
            return self._codecs.kind(renamed, kind), raw
        except KeyError:
            raise ValueError(f"{kind} of {api_version} is stored where {home.kind} should be") from None

    def _find(self, key: str) -> tuple[str, ResourceType, Sequence[str]] | None:
        """Return prefix, resource and the parts below the prefix; prefixes of the core group have one part less."""
        parts = key.split("/")
        for length in (4, 3):
            prefix = "/".join(parts[:length]) + "/"
            home = self._homes.get(prefix)
            if home is not None and len(parts) - length == 1 + home.namespaced:
                return prefix, home, parts[length:]
        return None


def homes(catalogue: Catalogue) -> Iterator[ResourceType]:
    """Yield each stored resource in its storage version or, if that is not served, in the preferred one."""
    for each in catalogue.resources:
        if each.storage_version is not None:
            yield catalogue.find(each.storage_group or "", each.storage_version, each.plural) or each
