"""Codecs of messages and kinds: canonical dict ↔ JSON and Protobuf, with errors as the API words them.

The canonical dict is what a Go server would show as JSON: keys in emission order, zero values left out or present as
Go has them, special forms in their canonical text. So writing it with orjson gives the wire form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final

import orjson

from orchtw.errors import BadRequest
from orchtw.schema.catalogue import IN_EVERY_GROUP, Catalogue, ResourceType
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.mismatch import Mismatch, SchemaError, shortened
from orchtw.schema.codec.parsing import Format, parse
from orchtw.schema.codec.protobuf_size import check_size
from orchtw.schema.codec.purposes import Generated
from orchtw.schema.codec.refusals import internal_package, mishandled
from orchtw.schema.codec.strict_fields import IGNORE, STRICT, strict_error
from orchtw.schema.codec.wire import read_varint
from orchtw.schema.nodes import StructSchema
from orchtw.schema.part import part
from orchtw.schema.schemas import Schemas
from orchtw.schema.validation.validators import Check, Consequence, Validator, Validators

_TOO_DEEP = "nested too deeply"
COLD_CALLS: Final = 4  # pieces of work on an object until a write of each sort has been seen, most likely
COLD_BYTES: Final = 64 * 1024 + 1  # the size that stands for a Pod's functions, which take some 50 ms to compile
_METADATA_TAG = 10  # field 1, length-delimited


class MessageCodec:
    """Reads and writes one message, such as ObjectMeta. Its functions are compiled when they are first used."""

    def __init__(self, schema: StructSchema, generated: Generated) -> None:
        self.schema = schema
        self.message = schema.name
        self.short_name = schema.name.rpartition(".")[2]
        self._generated = generated

    @cached_property
    def _normalise(self) -> Callable[[Any], dict[str, Any]]:
        return self._generated.normalise[self.schema]

    @cached_property
    def _decode(self) -> Callable[[bytes, int, int], dict[str, Any]]:
        return self._generated.decode[self.schema]

    @cached_property
    def encode_protobuf(self) -> Callable[[dict[str, Any]], bytes]:
        """Canonical dict → message bytes, exactly as the reference encodes; `kind` and `apiVersion` stay outside."""
        return self._generated.encode[self.schema]

    @cached_property
    def set_defaults(self) -> Callable[[dict[str, Any]], None]:
        """Fills a canonical dict in place with the declared defaults; keys stay in emission order."""
        return self._generated.default[self.schema]

    @cached_property
    def validator(self) -> Validator | None:
        """Every cause why a canonical dict breaks the rules that its schema declares; None: it declares none."""
        return self._generated.validate.find(self.schema)

    def validator_of(self, key: str) -> Validator | None:
        """The same of the struct under one of the top keys, such as `status`, with paths below that."""
        field = self.schema.keys.get(key)
        if field is None or not isinstance(field.node, StructSchema):
            return None
        return self._generated.validate.find(field.node)

    def refusal(self, why: str) -> BadRequest:
        """The 400 for a value that does not fit."""
        return BadRequest(f"{self.short_name}: {why}")

    def normalise(self, value: object) -> dict[str, Any]:
        """A JSON-shaped value as canonical dict. Raises BadRequest naming the place that does not fit."""
        try:
            return self._normalise(value)
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        except RecursionError:
            raise self.refusal(_TOO_DEEP) from None

    def decode_protobuf(self, raw: bytes) -> dict[str, Any]:
        """A message as canonical dict. Raises BadRequest naming the place that cannot be read."""
        try:
            return self._decode(raw, 0, len(raw))
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        except RecursionError:
            raise self.refusal(_TOO_DEEP) from None

    def strict_findings(self, value: dict[str, Any], text: bytes = b"") -> list[str]:
        """Unknown keys of a value that could be normalised, and repeated ones of the JSON text it came from.

        Texts such as `unknown field "spec.foo"` in the order of the value (reference WRITE-26). Raises BadRequest.
        """
        try:
            return self._generated.known.findings(self.schema, value, text)
        except RecursionError:
            raise self.refusal(_TOO_DEEP) from None


class KindCodec(MessageCodec):
    """Reads and writes the objects of one kind in one version, lists and options included.

    `type_prefix` is how their JSON begins: `{"kind":"Pod","apiVersion":"v1",`. A kind without a type of its own
    (WatchEvent) has neither key, and the prefix `{`. `protobuf` False: the kind has no Protobuf form, and the methods
    that read or write one must not be called. `item_prefix` is how their JSON begins in a list: only items without a
    Protobuf form name their kind (reference OBJ-14).
    """

    cold_calls: int = COLD_CALLS
    """Of how much work it is expected that it compiles functions, which takes long."""

    has_own_functions: ClassVar[bool] = True
    """Whether the codec of an added kind has tables of functions that go with it; False: it brings what it needs."""

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
        self._types = {"kind": kind, "apiVersion": api_version} if schema.kind else {}
        self._is_list = schema.kind == "list"
        self._schemas = schemas
        self.type_prefix = orjson.dumps(self._types)[:-1] + (b"," if self._types else b"")
        self.item_prefix = b"{" if protobuf else self.type_prefix

    def refusal(self, why: str) -> BadRequest:
        """The 400 for an object that does not fit (reference ERR-15)."""
        return mishandled(self.api_version, self.kind, self.kind, why)

    def normalise(self, value: object) -> dict[str, Any]:
        """A JSON-shaped value as canonical dict; kind and apiVersion may be absent, but not another's.

        Raises BadRequest naming the place that does not fit.
        """
        if type(value) is dict and self._types:
            api_version, kind = value.get("apiVersion"), value.get("kind")
            if api_version != self.api_version or kind != self.kind:
                self.check_type(api_version, kind)
        return self._typed(super().normalise(value))

    def decode_protobuf(self, raw: bytes) -> dict[str, Any]:
        """An inner message (without envelope) as canonical dict. Raises BadRequest naming the unreadable place."""
        return self._typed(super().decode_protobuf(raw))

    def read(
        self, body: bytes, form: Format, directive: str, versions: Sequence[KindCodec] = ()
    ) -> tuple[dict[str, Any], list[str]]:
        """One step from a body to an object: canonical, with its declared defaults.

        Beside it comes what a strict reader finds in the body (reference WRITE-26): unknown and repeated fields,
        which are not in the object, unless the field validation directive is Ignore. A body that names the
        apiVersion of one of `versions`, codecs of the kind in other versions, becomes an object of that version.
        Raises BadRequest (400) naming the place that does not fit, and under Strict all that was found.
        """
        parsed = parse(body, form, self.kind)
        codec = self
        for other in versions:
            if parsed.api_version == other.api_version:
                codec = other
        if parsed.raw is not None:
            return codec._decoded(parsed.api_version, parsed.kind, parsed.raw), []
        obj, findings = codec.fit(parsed.value, directive, parsed.text)
        if parsed.repeated and directive != IGNORE:
            findings = [*parsed.repeated, *findings]
        if findings and directive == STRICT:
            raise codec.refusal(strict_error(findings))
        return obj, findings

    def fit(self, value: object, directive: str, text: bytes = b"") -> tuple[dict[str, Any], list[str]]:
        """As `read`, from a JSON-shaped value, of which `text` is the JSON if there is one; findings never raise."""
        obj = self.normalise(value)
        findings = self.strict_findings(value, text) if directive != IGNORE and type(value) is dict else []
        self.set_defaults(obj)
        return obj, findings

    def fit_changes(
        self, value: dict[str, Any], live: dict[str, Any], directive: str
    ) -> tuple[dict[str, Any], list[str]]:
        """As `fit`, of what shares parts with `live`, a canonical object: under which top keys it does is as it was.

        A change of status or metadata costs no look at the rest.
        """
        keys = self.schema.keys
        kept = {key for key, part in value.items() if key in live and live[key] is part and key in keys}
        if not kept or not self.protobuf:  # what has no message has no fixed top keys either
            return self.fit(value, directive)
        changed = {key: part for key, part in value.items() if key not in kept}
        parts = {**self.normalise(changed), **{key: value[key] for key in kept}}
        obj = self._typed({key: parts[key] for key in keys if key in parts})
        findings = self.strict_findings(changed) if directive != IGNORE else []
        self.set_defaults(obj)
        return obj, findings

    def pruned(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object that another version became, as canonical dict of this one, without defaults."""
        return self.normalise(obj)

    @property
    def unread(self) -> bool:
        """Report whether no object has been decoded from Protobuf yet: the first one compiles functions."""
        return self.protobuf and "_decode" not in self.__dict__

    def work_bytes(self, size_bytes: int) -> int:
        """The size by which it is decided whether others wait while work is done on an object of `size_bytes`."""
        if not self.cold_calls:
            return size_bytes
        self.cold_calls -= 1
        return max(size_bytes, COLD_BYTES)

    def refresh(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of the store as canonical dict with its declared defaults, as the schema is today."""
        obj = self.normalise(obj)
        self.set_defaults(obj)
        return obj

    def _decoded(self, api_version: object, kind: object, raw: bytes) -> dict[str, Any]:
        """The object of a Protobuf body with its defaults; its type may be empty, but not another's."""
        if api_version != self.api_version or kind != self.kind:
            self.check_type(api_version, kind)
        try:
            check_size(self.schema, raw)
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        obj = self.decode_protobuf(raw)
        self.set_defaults(obj)
        return obj

    def encode_envelope(self, obj: dict[str, Any]) -> bytes:
        """A canonical dict as whole Protobuf body."""
        return wrap(self._types.get("apiVersion", ""), self._types.get("kind", ""), self.encode_protobuf(obj))

    def decode_metadata(self, raw: bytes) -> dict[str, Any]:
        """Only the metadata of an inner message, at a tenth of the cost. For objects that this server encoded."""
        if raw[0] != _METADATA_TAG:
            raise ValueError(f"no metadata at the start of a stored {self.kind}")
        length, start = read_varint(raw, 1)
        schema = self.schema.keys["metadata"].node
        assert isinstance(schema, StructSchema)
        return self._generated.decode[schema](raw, start, start + length)  # type: ignore[no-any-return]

    def part_decoder(self, paths: Iterable[str]) -> Callable[[bytes], dict[str, Any]]:
        """Return a decoder of an inner message for some paths only, at a tenth of the cost.

        It raises SchemaError for malformed data at these paths or on the way there, and skips the rest.
        """
        decode = self._generated.decode[part(self.schema, paths)]

        def read(raw: bytes) -> dict[str, Any]:
            try:
                return decode(raw, 0, len(raw))  # type: ignore[no-any-return]
            except RecursionError:
                raise SchemaError(_TOO_DEEP) from None

        return read

    def check_type(self, api_version: object, kind: object) -> None:
        """Refuse a body's apiVersion or kind that is not this codec's; empty or None counts as given by the URL.

        Raises BadRequest (reference ERR-15, WRITE-7).
        """
        found_version, found = api_version or self.api_version, kind or self.kind
        if found_version == self.api_version and found == self.kind:
            return
        if type(found_version) is not str or type(found) is not str:
            name, value = ("kind", found) if type(found_version) is str else ("apiVersion", found_version)
            raise self.refusal(str(Mismatch("a string", value).within(name)))
        message = self._schemas.message_of(found_version, found)
        if message == self.message:
            return
        found_version, found = shortened(found_version), shortened(found)
        if message is None:
            why = f'no kind "{found}" is registered for version "{found_version}"'
            if foreign := self._schemas.naming.foreign(found_version.rpartition("/")[0]):
                why += f" ({foreign})"
            raise mishandled(found_version, found, self.kind, why)
        if found != self.kind:
            raise mishandled(found_version, found, self.kind, self._unconverted(message, found_version, found))
        raise self.other_version(found_version)

    def _unconverted(self, message: str, found_version: str, found: str) -> str:
        """Why an object of another known kind is not one of this kind, in the names of Go's types."""
        if not self.protobuf or self._schemas.is_added(message):
            return f"it is not a {self.kind}"
        package = internal_package(self._schemas.naming.neutral(self.api_version.rpartition("/")[0]))
        shown = found_version.rpartition("/")[2]
        return f"converting ({shown}.{found}) to ({package}.{self.kind}): unknown conversion"

    def other_version(self, found: str) -> BadRequest:
        """The refusal of a body in another version (reference WRITE-7)."""
        return BadRequest(
            f"the API version in the data ({shortened(found)}) does not match "
            f"the expected API version ({self.api_version})"
        )

    def _typed(self, fields: dict[str, Any]) -> dict[str, Any]:
        if self._is_list and fields.get("items") is None:
            fields["items"] = []  # a list is never null (reference OBJ-14)
        return {**self._types, **fields}


class Codecs:
    """The codecs of every message and kind in one vocabulary; each is made when it is first asked for.

    `checks` are the rules of messages that no declaration can say, by the message's full name, and `consequences`
    what follows from broken ones.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        checks: Mapping[str, Check] = MappingProxyType({}),
        consequences: Mapping[str, Consequence] = MappingProxyType({}),
    ) -> None:
        self.catalogue = catalogue
        self.schemas = Schemas(catalogue)
        self._generated = Generated(validate=Validators(checks, consequences))
        self._kinds: dict[tuple[str, str], KindCodec] = {}
        self._messages: dict[str, MessageCodec] = {}

    def kind(self, api_version: str, kind: str) -> KindCodec:
        """The codec of a kind. Raises KeyError when it is unknown."""
        found = self._kinds.get((api_version, kind))
        if found is None:
            message = self.schemas.message_of(api_version, kind)
            if message is None:
                raise KeyError(f"{kind} in {api_version}")
            schema = self.schemas.struct(message)
            if self.schemas.is_added(message):
                found = self._own(api_version, kind, schema, KindCodec)
            else:
                found = KindCodec(api_version, kind, schema, self._generated, self.schemas)
            self._kinds[api_version, kind] = found
        return found

    def made(
        self, resource: ResourceType, schema: StructSchema, codec_type: type[KindCodec] | None = None
    ) -> KindCodec:
        """Return a codec of an added kind; `change` makes it known."""
        return self._own(resource.api_version, resource.kind, schema, codec_type or KindCodec)

    def change(self, gone: Iterable[ResourceType], come: Iterable[tuple[ResourceType, KindCodec]]) -> None:
        """Forget the kinds of added resources and their lists, and know others by the codecs that were `made`.

        Codecs that somebody still holds go on working. Raises ValueError as `Schemas.change` does.
        """
        gone, come = list(gone), list(come)
        self.schemas.change(gone, [(resource, codec.schema) for resource, codec in come])
        for lost in gone:
            for kind in (lost.kind, lost.list_kind or "", *IN_EVERY_GROUP):
                self._kinds.pop((lost.api_version, kind), None)
        self._kinds |= {(resource.api_version, resource.kind): codec for resource, codec in come}

    def _own(
        self, api_version: str, kind: str, schema: StructSchema, codec_type: type[KindCodec]
    ) -> KindCodec:
        """A codec with functions of its own, which go with it, and without Protobuf."""
        generated = Generated() if codec_type.has_own_functions else self._generated
        return codec_type(api_version, kind, schema, generated, self.schemas, protobuf=False)

    def message(self, full_name: str) -> MessageCodec:
        """The codec of a message. Raises KeyError when it is unknown or has a special JSON form."""
        found = self._messages.get(full_name)
        if found is None:
            found = self._messages[full_name] = MessageCodec(self.schemas.struct(full_name), self._generated)
        return found
