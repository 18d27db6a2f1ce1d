"""Decoding and encoding of stored values by key: built-in objects, custom objects, and other values."""

from __future__ import annotations

import orjson

from orchtw.errors import StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.rewriting import homes
from orchtw.registry.targets import REGISTRY, storage_prefix
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.wire.objects import Object

CORE = 3
"""Number of segments of the prefix `/registry/pods`, including the empty one before the first slash."""


class StoredValues:
    """Codec between stored values and objects in the vocabulary of the store."""

    def __init__(self, naming: Naming) -> None:
        self._codecs = Codecs(Catalogue.load(naming))
        self._homes = {storage_prefix(each, naming): each for each in homes(self._codecs.catalogue)}

    def resource(self, key: str) -> str:
        """Return the resource of a key, such as `pods` or `leases.coordination.orch.io`. Keys are neutral."""
        parts = key.removeprefix(REGISTRY).split("/")
        if f"{REGISTRY}{parts[0]}/" in self._homes or "." not in parts[0]:
            return parts[0] if len(parts) > 1 else key
        return f"{parts[1]}.{parts[0]}" if len(parts) > 1 else key

    def read(self, key: str, value: bytes) -> Object | None:
        """Decode an object in its stored version; None for other values. Raises ValueError if it is damaged."""
        home = self._home(key)
        try:
            if value[:1] == b"{":
                obj: Object = load_json(value)
                if home is None and not _is_custom(obj):
                    return None
            elif home is None:
                return None
            else:
                obj = self._decoded(value)
        except StatusError as error:
            raise ValueError(error.message) from None
        _check_place(key, obj, home)
        return obj

    def value(self, key: str, obj: object) -> bytes:
        """Encode an object for the store. Raises ValueError if it is malformed or does not belong under `key`."""
        home = self._home(key)
        if not isinstance(obj, dict) or not _is_custom(obj):
            raise ValueError("the object has no apiVersion, kind or metadata")
        meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
        stored: Object = {**obj, "metadata": meta}
        _check_place(key, stored, home)
        if home is None:
            return orjson.dumps(stored)
        codec = self._codec(stored["apiVersion"], stored["kind"])
        try:
            return codec.encode_envelope(codec.normalise(stored))
        except StatusError as error:
            raise ValueError(error.message) from None

    def is_current(self, key: str, value: bytes) -> bool:
        """Report whether a built-in object is stored in the current storage version and encoding."""
        home = self._home(key)
        if home is None:
            return True
        if value[:1] == b"{":
            return False
        try:
            return unwrap(value)[0] == home.api_version
        except StatusError:
            return True

    def _home(self, key: str) -> ResourceType | None:
        parts = key.split("/")
        for length in (CORE + 1, CORE):
            home = self._homes.get("/".join(parts[:length]) + "/")
            if home is not None and len(parts) - length == 1 + home.namespaced:
                return home
        return None

    def _decoded(self, value: bytes) -> Object:
        api_version, kind, raw = unwrap(value)
        return self._codec(api_version, kind).decode_protobuf(raw)

    def _codec(self, api_version: str, kind: str) -> KindCodec:
        try:
            return self._codecs.kind(api_version, kind)
        except KeyError:
            raise ValueError(f'no kind "{kind}" is known in version "{api_version}"') from None


def _is_custom(obj: object) -> bool:
    """Report whether a JSON value is an API object, with apiVersion, kind and metadata."""
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        return False
    return all(isinstance(obj.get(key), str) and obj[key] for key in ("apiVersion", "kind"))


def _check_place(key: str, obj: Object, home: ResourceType | None) -> None:
    """Raise ValueError if kind, namespace or name of an object contradict its key."""
    meta = obj["metadata"]
    if home is not None and obj["kind"] != home.kind:
        raise ValueError(f"{obj['kind']} is stored where {home.kind} should be")
    names = [part for part in (meta.get("namespace"), meta.get("name")) if part]
    if not names or not all(isinstance(part, str) for part in names):
        raise ValueError("the object has no name")
    own = "/".join(names)
    if not key.endswith(f"/{own}"):
        raise ValueError(f"its metadata identifies it as {own}")
