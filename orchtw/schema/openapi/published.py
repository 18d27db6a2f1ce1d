"""The documents of one server as bytes: made when first asked for, then kept.

Those of the release never change and are kept for good. What is added at run time comes and goes: it is rendered by
itself, and joined to what the release has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from hashlib import sha256
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import attrs
import orjson

from orchtw.json_values import loads
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.custom.schemas import CustomSchema
from orchtw.schema.openapi import protobuf_v2, protobuf_v3, v2, v3
from orchtw.schema.openapi.definitions import META, PATCH, V2, V3, WATCH_EVENT, Definitions
from orchtw.schema.openapi.documents import Part, parts
from orchtw.schema.openapi.features import EVERYTHING, Features
from orchtw.schema.openapi.foreign import Foreign, beside
from orchtw.schema.openapi.operations import DELETE_OPTIONS, STATUS
from orchtw.schema.openapi.v2 import Pieces
from orchtw.schema.schemas import LIST_META, OBJECT_META, Schemas

KEPT_BYTES: Final = 16 << 20
"""Of the rendered parts that come and go; what is beyond is rendered again when somebody asks."""

_SCALE: Final = "orch.io.api.autoscaling.v1.Scale"
_OF_EVERY_KIND: Final = (
    OBJECT_META, LIST_META, STATUS, DELETE_OPTIONS, PATCH, WATCH_EVENT, _SCALE, f"{META}.APIGroup",
    f"{META}.APIResourceList",
)  # fmt: skip

T = TypeVar("T")


@attrs.frozen(slots=True)
class Encoded:
    """A document in one format; `hash` is in upper-case hexadecimal digits."""

    body: bytes
    hash: str

    @classmethod
    def of(cls, body: bytes) -> Encoded:
        """The document whose bytes are `body`, with their hash."""
        return cls(body, sha256(body).hexdigest().upper())


class Form:
    """One document: its JSON bytes, and from these its Protobuf bytes if somebody wants them.

    `protobuf_types` are the media types of the Protobuf form, that of answers first.
    """

    def __init__(self, json: Encoded, to_protobuf: Callable[[], bytes], protobuf_types: tuple[str, ...]) -> None:
        self.json = json
        self.protobuf_types = protobuf_types
        self._to_protobuf = to_protobuf

    @cached_property
    def protobuf(self) -> Encoded:
        """The Protobuf form."""
        return Encoded.of(self._to_protobuf())


class _Kept(Generic[T]):
    """The values that were used last, at most KEPT_BYTES of them. Threads may ask at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: OrderedDict[tuple[Any, ...], tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[Any, ...], make: Callable[[], T], size_bytes: Callable[[T], int]) -> T:
        with self._lock:
            found = self._values.pop(key, None)
            if found is None:
                value = make()
                found = value, size_bytes(value)
                self._bytes += found[1]
            self._values[key] = found
            while self._bytes > KEPT_BYTES and len(self._values) > 1:
                _, (_, size) = self._values.popitem(last=False)
                self._bytes -= size
            return found[0]


class _Release:
    """What is published of a server to which nothing has been added, and the definitions that added kinds share."""

    def __init__(self, schemas: Schemas, enabled: tuple[ResourceType, ...], features: Features) -> None:
        self.schemas = schemas
        self.enabled = enabled
        self.features = features
        self.parts = {part.path: part for part in parts(schemas, enabled, features)}
        self.kept_v2 = _Kept[Pieces]()
        self.kept_v3 = _Kept[Form]()
        self._v3: dict[str, Form] = {}

    @cached_property
    def v2(self) -> Pieces:
        operations = (operation for part in self.parts.values() for operation in part.operations())
        definitions = Definitions(V2, self.schemas, self.enabled, self.features)
        return v2.pieces(operations, definitions, self.schemas.naming, also=_OF_EVERY_KIND)

    @cached_property
    def v2_protobuf(self) -> bytes:
        return protobuf_v2.encode(loads(v2.joined([self.v2], self.schemas.naming)))

    def v3(self, path: str) -> Form:
        if not self._v3:
            # Made once what several documents have.
            definitions = Definitions(V3, self.schemas, self.enabled, self.features)
            self._v3 = {each.path: _v3_form(each, definitions, self.schemas, "") for each in self.parts.values()}
        return self._v3[path]

    @cached_property
    def shared_v2(self) -> Definitions:
        return self._shared(Definitions(V2, self.schemas, self.enabled, self.features))

    @cached_property
    def shared_v3(self) -> Definitions:
        return self._shared(Definitions(V3, self.schemas, self.enabled, self.features))

    @staticmethod
    def _shared(definitions: Definitions) -> Definitions:
        definitions.closure(_OF_EVERY_KIND)
        return definitions


class Published:
    """What is published about the `enabled` resources, under the names of the schemas' vocabulary.

    Only bytes are kept, and `schemas` as they are now: other resources are another `Published`, which takes over
    what is still true from the one `before`.
    """

    _release: _Release

    def __init__(
        self,
        schemas: Schemas,
        enabled: Iterable[ResourceType],
        before: Published | None = None,
        features: Features = EVERYTHING,
    ) -> None:
        self._schemas = schemas.copy()
        every = tuple(enabled)
        release = tuple(each for each in every if each.protobuf)
        known: _Release | None = None if before is None else before._release
        self._release = known if known and known.enabled == release else _Release(self._schemas, release, features)
        self._parts = {part.path: part for part in parts(self._schemas, every, features)}
        self.v3: Mapping[str, Form] = _V3(self._parts, self._v3_form)

    @property
    def v3_paths(self) -> Iterable[str]:
        """The paths that have a v3 document, such as "apis/apps/v1"."""
        return self._parts.keys()

    @cached_property
    def v2(self) -> Form:
        """The v2 document."""
        pieces = [self._release.v2, *self._added_pieces()]
        json = Encoded.of(v2.joined(pieces, self._schemas.naming))
        return Form(json, self._v2_protobuf, protobuf_v2.MEDIA_TYPES)

    def v2_with(self, others: Iterable[Foreign]) -> Form:
        """The v2 document with the parts in it that other servers serve, and this one does not."""
        own = [self._release.v2, *self._added_pieces()]
        taken = {name for each in own for name in each.names}
        _, known = self._release.v2.documents()
        come: list[Pieces] = []
        for other in others:
            if other.part not in self._parts:
                come.append(beside(other, taken, known, f"{self._schemas.naming.extension_prefix}group-version-kind"))
                taken |= come[-1].names

        def to_protobuf() -> bytes:
            return b"".join((self._v2_protobuf(), *(protobuf_v2.encode_pieces(*each.documents()) for each in come)))

        json = Encoded.of(v2.joined([*own, *come], self._schemas.naming))
        return Form(json, to_protobuf, protobuf_v2.MEDIA_TYPES)

    def index(self, root: str) -> Encoded:
        """The index of the v3 documents, which are served below `root`: where each is, with its hash."""
        paths = {path: {"serverRelativeURL": f"{root}/{path}?hash={self.v3_hash(path)}"} for path in self._parts}
        return Encoded.of(orjson.dumps({"paths": paths}))

    def v3_hash(self, path: str) -> str:
        """The hash of a v3 document. One that comes and goes need not be rendered for it."""
        part = self._parts[path]
        return self._added_hash(part) if self._comes_and_goes(part) else self._release.v3(path).json.hash

    def _comes_and_goes(self, part: Part) -> bool:
        return part.path not in self._release.parts or any(not each.protobuf for each in part.resources)

    def _added_hash(self, part: Part) -> str:
        """A hash over everything that the document is made from."""
        digest = sha256(f"{self._schemas.naming.git_version} {part.path}".encode())
        for each in part.resources:
            digest.update(repr(each).encode())
            schema = self._schemas.struct(each.message)
            if isinstance(schema, CustomSchema):
                digest.update(schema.source)
        return digest.hexdigest().upper()

    def _v3_form(self, path: str) -> Form:
        part = self._parts[path]
        if not self._comes_and_goes(part):
            return self._release.v3(path)
        hash_ = self._added_hash(part)

        def make() -> Form:
            definitions = self._release.shared_v3.with_added(self._schemas, _added(part))
            return _v3_form(part, definitions, self._schemas, hash_)

        return self._release.kept_v3.get((path, hash_), make, lambda form: len(form.json.body))

    def _added_pieces(self) -> Iterator[Pieces]:
        """What comes and goes, part by part."""
        for part in self._parts.values():
            if self._comes_and_goes(part):
                key = part.path, self._added_hash(part)
                yield self._release.kept_v2.get(key, partial(self._pieces, part), Pieces.size_bytes)

    def _pieces(self, part: Part) -> Pieces:
        """A part's own share of the v2 document."""
        definitions = self._release.shared_v2.with_added(self._schemas, _added(part))
        known = self._release.parts.get(part.path)
        before = set() if known is None else {each.path for each in known.operations()}
        operations = [each for each in part.operations() if each.path not in before]
        return v2.pieces(operations, definitions, self._schemas.naming, but_for=self._release.v2.names)

    def _v2_protobuf(self) -> bytes:
        """Messages one behind the other are one message with the members of both."""
        added = (protobuf_v2.encode_pieces(*each.documents()) for each in self._added_pieces())
        return b"".join((self._release.v2_protobuf, *added))


class _V3(Mapping[str, Form]):
    """The v3 documents by path, each made when it is asked for."""

    def __init__(self, parts_: Mapping[str, Part], make: Callable[[str], Form]) -> None:
        self._parts = parts_
        self._make = make

    def __getitem__(self, path: str) -> Form:
        return self._make(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def _added(part: Part) -> list[ResourceType]:
    return [each for each in part.resources if not each.protobuf]


def _v3_form(part: Part, definitions: Definitions, schemas: Schemas, hash_: str) -> Form:
    """A v3 document; `hash_` "": that of its bytes."""
    document = v3.document(part.operations(), definitions, schemas.naming)
    body = orjson.dumps(document)
    json = Encoded(body, hash_) if hash_ else Encoded.of(body)
    return Form(json, lambda: protobuf_v3.encode(loads(body)), protobuf_v3.MEDIA_TYPES)
