"""Codec of a kind that has a message: every built-in kind, and the lists and options of custom resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final

import orjson

from orchtw.errors import BadRequest
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.field_encoder import FieldEncoder
from orchtw.schema.codec.kind_type import KindType
from orchtw.schema.codec.message_codec import TOO_DEEP, MessageCodec
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.protobuf_size import check_size
from orchtw.schema.codec.purposes import Generated
from orchtw.schema.codec.spans import without_equal
from orchtw.schema.codec.strict_fields import IGNORE, may_repeat
from orchtw.schema.codec.unchanged import in_order, unchanged_parts
from orchtw.schema.codec.wire import read_varint
from orchtw.schema.known_parts import text_of
from orchtw.schema.nodes import StructSchema
from orchtw.schema.schemas import Schemas

COLD_CALLS: Final = 4  # pieces of work on an object until a write of each sort has been seen, most likely
COLD_BYTES: Final = 64 * 1024 + 1  # the size that stands for a Pod's functions, which take some 50 ms to compile
_METADATA_TAG = 10  # field 1, length-delimited


class KindCodec(MessageCodec):
    """The `Codec` of one kind in one version, lists and options included, by functions generated from its schema.

    Methods that read or write Protobuf must not be called when `protobuf` is False.
    """

    cold_calls: int = COLD_CALLS
    """Number of calls to come that are expected to compile functions, which takes long."""

    def __init__(
        self,
        api_version: str,
        kind: str,
        schema: StructSchema,
        generated: Generated,
        schemas: Schemas,
        *,
        protobuf: bool = True,
    ) -> None:
        super().__init__(schema, generated)
        self.api_version = api_version
        self.kind = kind
        self.protobuf = protobuf
        self.type = KindType(api_version, kind, schema, schemas, protobuf=protobuf)
        self.type_prefix = self.type.prefix
        self.item_prefix = b"{" if protobuf else self.type_prefix

    @property
    def with_message(self) -> KindCodec:
        return self

    def refusal(self, why: str) -> BadRequest:
        return self.type.refusal(why)

    def normalise(self, value: object) -> dict[str, Any]:
        if type(value) is dict and self.type.fields:
            api_version, kind = value.get("apiVersion"), value.get("kind")
            if api_version != self.api_version or kind != self.kind:
                self.type.check(api_version, kind)
        return self.type.of(super().normalise(value))

    def decode_protobuf(self, raw: bytes) -> dict[str, Any]:
        """Return an inner message (without envelope) as canonical dict. Raises BadRequest naming the bad place."""
        return self.type.of(super().decode_protobuf(raw))

    def fit(self, value: object, directive: str, text: bytes = b"") -> tuple[dict[str, Any], list[str]]:
        if type(value) is not dict or not self.protobuf:
            return self._fit_whole(value, directive, text)
        kept, unknown = self._known_parts(value)
        obj, findings = self._fit_beside(value, kept, {}, directive, text)
        if directive != IGNORE and not findings:  # else a text would stand for less than it says
            for question, part_text, key in unknown:
                canonical = text_of(obj[key]) if key in obj else None
                if canonical is not None:
                    self._generated.known_parts.put((self.message, question, part_text), canonical)
        return obj, findings

    def _known_parts(self, value: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, bytes, str]]]:
        """Return the top-level structs whose canonical text is known by their own, and the key of all others.

        Metadata, which is different in every object, is not looked up.
        """
        known, keys = self._generated.known_parts, self.schema.keys
        kept: dict[str, Any] = {}
        unknown: list[tuple[str, bytes, str]] = []
        for key, member in value.items():
            if type(member) is not dict or key == "metadata" or key not in keys:
                continue
            part_text = text_of(member)
            if part_text is not None:
                question = f".{key}"
                canonical = known.get((self.message, question, part_text))
                if canonical is None:
                    unknown.append((question, part_text, key))
                else:
                    kept[key] = orjson.loads(canonical)
        return kept, unknown

    def _fit_whole(self, value: object, directive: str, text: bytes) -> tuple[dict[str, Any], list[str]]:
        obj = self.normalise(value)
        findings = self.strict_findings(value, text) if directive != IGNORE and type(value) is dict else []
        self.set_defaults(obj)
        return obj, findings

    def _fit_beside(
        self,
        value: dict[str, Any],
        kept: dict[str, Any],
        kept_metadata: dict[str, Any],
        directive: str,
        text: bytes,
    ) -> tuple[dict[str, Any], list[str]]:
        """Fit a value of which some parts, and parts of metadata, are known in canonical form."""
        if not kept and not kept_metadata:
            return self._fit_whole(value, directive, text)
        changed = {key: member for key, member in value.items() if key not in kept}
        if kept_metadata:
            meta: dict[str, Any] = value["metadata"]
            changed["metadata"] = {key: member for key, member in meta.items() if key not in kept_metadata}
        parts = {**self.normalise(changed), **kept}
        if kept_metadata:
            parts["metadata"] = in_order({**parts["metadata"], **kept_metadata}, self._metadata.keys)
        obj = self.type.of(in_order(parts, self.schema.keys))
        findings: list[str] = []
        if directive != IGNORE:
            repeats = bool(text) and may_repeat(text, value)
            findings = self.strict_findings(value, text) if repeats else self.strict_findings(changed)
        self.set_defaults(obj)
        return obj, findings

    def fit_message(
        self, api_version: str, kind: str, raw: bytes, live: dict[str, Any] | None = None, live_raw: bytes = b""
    ) -> dict[str, Any]:
        if api_version != self.api_version or kind != self.kind:
            self.type.check(api_version, kind)
        try:
            check_size(self.schema, raw)
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        obj = None if live is None else self._decode_beside(raw, live, live_raw)
        if obj is None:
            obj = self.decode_protobuf(raw)
        self.set_defaults(obj)
        return obj

    def _decode_beside(self, raw: bytes, live: dict[str, Any], live_raw: bytes) -> dict[str, Any] | None:
        """Return an inner message of which some fields are those of `live`; None: it has to be decoded whole."""
        found = without_equal(self.schema, raw, live, live_raw)
        if found is None:
            return None
        left, kept = found
        try:
            parts = {**self._decode(left, 0, len(left)), **kept}
        except (SchemaError, RecursionError):  # the whole message shows the place
            return None
        if "metadata" in kept:
            parts["metadata"] = dict(kept["metadata"])  # as in `fit_changes`
        return self.type.of(in_order(parts, self.schema.keys))

    def fit_changes(
        self, value: dict[str, Any], live: dict[str, Any], directive: str, text: bytes = b""
    ) -> tuple[dict[str, Any], list[str]]:
        if not self.protobuf:  # a kind without a message has no fixed top keys
            return self.fit(value, directive, text)
        kept = unchanged_parts(value, live, self.schema.keys)
        if "metadata" in kept:
            kept["metadata"] = dict(kept["metadata"])  # which every write changes in place
        meta, live_meta = value.get("metadata"), live.get("metadata")
        kept_meta: dict[str, Any] = {}
        if "metadata" not in kept and type(meta) is dict and type(live_meta) is dict:
            kept_meta = unchanged_parts(meta, live_meta, self._metadata.keys)
        return self._fit_beside(value, kept, kept_meta, directive, text)

    @property
    def _metadata(self) -> StructSchema:
        node = self.schema.keys["metadata"].node
        assert isinstance(node, StructSchema)
        return node

    def pruned(self, obj: dict[str, Any]) -> dict[str, Any]:
        return self.normalise(obj)

    def refresh(self, obj: dict[str, Any]) -> dict[str, Any]:
        obj = self.normalise(obj)
        self.set_defaults(obj)
        return obj

    @property
    def unread(self) -> bool:
        """Report whether no object has been decoded from Protobuf yet: the first one compiles functions."""
        return self.protobuf and "_decode" not in self.__dict__

    def work_bytes(self, size_bytes: int) -> int:
        """Return the size of the work; the first calls compile functions."""
        if not self.cold_calls:
            return size_bytes
        self.cold_calls -= 1
        return max(size_bytes, COLD_BYTES)

    def excused(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[str]:
        return []

    def may_take_long(self, size_bytes: int) -> bool:
        return False

    @cached_property
    def field_encoder(self) -> FieldEncoder:
        """Encoder of new and changed objects for the store; the result is that of `encode_protobuf`."""
        generated = self._generated
        return FieldEncoder(self.schema, generated.encode, generated.parts, generated.known_parts)

    def encode_envelope(self, obj: dict[str, Any]) -> bytes:
        """Return a canonical dict as whole Protobuf body."""
        types = self.type.fields
        return wrap(types.get("apiVersion", ""), types.get("kind", ""), self.encode_protobuf(obj))

    def decode_metadata(self, raw: bytes) -> dict[str, Any]:
        """Return the metadata alone of an inner message that this server encoded, at a tenth of the cost."""
        if raw[0] != _METADATA_TAG:
            raise ValueError(f"no metadata at the start of a stored {self.kind}")
        length, start = read_varint(raw, 1)
        return self._generated.decode[self._metadata](raw, start, start + length)  # type: ignore[no-any-return]

    def part_decoder(self, paths: Iterable[str]) -> Callable[[bytes], dict[str, Any]]:
        """Return a decoder of an inner message for some paths only, at a tenth of the cost.

        It raises SchemaError for malformed data at these paths or on the way there, and skips the rest.
        """
        decode = self._generated.decode[self._generated.parts.of(self.schema, paths)]

        def read(raw: bytes) -> dict[str, Any]:
            try:
                return decode(raw, 0, len(raw))  # type: ignore[no-any-return]
            except RecursionError:
                raise SchemaError(TOO_DEEP) from None

        return read
