"""Decoding of values that were stored in another version or form than the present one (reference VER-18)."""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.registry.strategy import Strategy
from orchtw.schema.codec.body import fit_own
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.conversion.older import older_function
from orchtw.wire.objects import Object


class OlderValues:
    """Stored values of one kind whose objects are now stored as Protobuf in the version of `home`.

    A value names its own version. Its fields get the defaults of that version; then it is converted as requests in a
    served version are, or by a conversion of its own, and completed in the present version.
    """

    def __init__(self, home: Codec, strategy: Strategy, codecs: Codecs, naming: Naming) -> None:
        self._home = home
        self._strategy = strategy
        self._codecs = codecs
        self._naming = naming

    def read(self, value: bytes) -> Object:
        """Return the object as a canonical dict of the present version.

        Raises StatusError or ValueError if it is of another kind, of an unknown version, or damaged.
        """
        obj = self._read_json(value) if value[:1] == b"{" else self._read_protobuf(value)
        api_version = obj["apiVersion"]
        if api_version != self._home.api_version:
            obj = self._converted(obj, api_version)
        obj["metadata"]["resourceVersion"] = ""
        return obj

    def _read_json(self, value: bytes) -> Object:
        obj = load_json(value)
        return self._codec(obj.get("apiVersion", ""), obj.get("kind", "")).normalise(obj)

    def _read_protobuf(self, value: bytes) -> Object:
        api_version, kind, raw = unwrap(value)
        return self._codec(api_version, kind).decode_protobuf(raw)

    def _codec(self, api_version: str, kind: str) -> KindCodec:
        if kind == self._home.kind:
            try:
                return self._codecs.kind(api_version, kind)
            except KeyError:
                pass
        raise ValueError(f"{kind} of {api_version} is stored where {self._home.kind} should be")

    def _converted(self, obj: Object, api_version: str) -> Object:
        self._codecs.kind(api_version, self._home.kind).set_defaults(obj)
        conversions = self._strategy.traits.conversions
        convert = conversions.converter(api_version, self._home.api_version, naming=self._naming)
        older = older_function(api_version, self._home.kind, self._naming)
        found = fit_own(self._home, convert(older(obj)))
        self._strategy.set_defaults(found)
        return found
