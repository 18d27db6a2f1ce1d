"""Documents of the release, made once, and their combination with the shares of added kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from hashlib import sha256
from typing import Final

import orjson

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.nodes import StructSchema
from orchtw.schema.openapi import v2, v3
from orchtw.schema.openapi.definitions import META, PATCH, V2, V3, WATCH_EVENT, Definitions, Dialect
from orchtw.schema.openapi.documents import Document, Part, Pieces, parts
from orchtw.schema.openapi.features import Features
from orchtw.schema.openapi.forms import DocumentForm, Encoded
from orchtw.schema.openapi.operations import DELETE_OPTIONS, STATUS, Operation, Operations
from orchtw.schema.openapi.protobuf import v2 as v2_protobuf
from orchtw.schema.openapi.protobuf import v3 as v3_protobuf
from orchtw.schema.openapi.shares import Edition, KindShare, Share
from orchtw.schema.schemas import LIST_META, OBJECT_META, Schemas
from orchtw.wire.json_values import loads

_SCALE: Final = "orch.io.api.autoscaling.v1.Scale"
_OF_EVERY_KIND: Final = (
    OBJECT_META, LIST_META, STATUS, DELETE_OPTIONS, PATCH, WATCH_EVENT, _SCALE, f"{META}.APIGroup",
    f"{META}.APIResourceList",
)  # fmt: skip


class Release:
    """Documents of a server without added kinds, and the definitions that added kinds share.

    `second` and `third` render the shares of added kinds in versions 2 and 3.
    """

    def __init__(self, schemas: Schemas, enabled: tuple[ResourceType, ...], features: Features) -> None:
        self.enabled = enabled
        self._schemas = schemas = schemas.of_release()
        self._naming = schemas.naming
        self._features = features
        self.parts = {part.path: part for part in parts(schemas, enabled, features)}
        naming = schemas.naming
        self.second = Edition(
            lambda: self._common_v2,
            lambda operations, definitions: v2.RendererV2(definitions, naming).pieces(operations),
            v2_protobuf.encode_pieces,
        )
        self.third = Edition(
            lambda: self._common_v3,
            lambda operations, definitions: v3.RendererV3(definitions, naming).pieces(operations),
            v3_protobuf.encode_pieces,
        )
        self._v3: dict[str, Pieces] = {}
        self._v3_forms: dict[str, DocumentForm] = {}

    @cached_property
    def v2(self) -> Pieces:
        """The release's part of the v2 document."""
        operations = (operation for part in self.parts.values() for operation in part.operations())
        return v2.RendererV2(self._definitions(V2), self._naming).pieces(operations, also=_OF_EVERY_KIND, whole=True)

    def v2_form(self, shares: Sequence[Share], schemas: Schemas) -> DocumentForm:
        """Return the v2 document with these shares, of kinds that `schemas` knows."""
        pieces = [self.v2, *(self.second.pieces(share, schemas) for share in shares)]
        json = Encoded(v2.joined(pieces, self._naming), self._hash(self._v2_digest, shares))

        def to_protobuf() -> bytes:
            return b"".join((self._v2_protobuf, *(self.second.protobuf(share, schemas) for share in shares)))

        steps = partial(self.second.steps, shares, schemas, protobuf=True)
        return DocumentForm(json, to_protobuf, v2_protobuf.MEDIA_TYPES, steps)

    def v3(self, path: str) -> DocumentForm:
        """Return a v3 document of the release."""
        found = self._v3_forms.get(path)
        if found is None:
            body = v3.joined([self._v3_pieces(path)], {}, self._naming)
            found = DocumentForm(Encoded.of(body), lambda: v3_protobuf.encode(loads(body)), v3_protobuf.MEDIA_TYPES)
            self._v3_forms[path] = found
        return found

    def v3_form(self, path: str, shares: Sequence[Share], schemas: Schemas) -> DocumentForm:
        """Return the v3 document of a part with these shares, of kinds that `schemas` knows."""
        base = [self._v3_pieces(path)] if path in self.parts else []
        pieces = [*base, *(self.third.pieces(share, schemas) for share in shares)]
        names = {name for each in pieces for name in each.names}
        shared = sorted({name for each in pieces for name in each.shared} - names)
        schemas_of = self._common_v3.named(shared)
        text = {name: orjson.dumps(schema) for name, schema in schemas_of.items()}
        json = Encoded(v3.joined(pieces, text, self._naming), self.hash_of(path, shares))

        def to_protobuf() -> bytes:
            head = v3_protobuf.encode(loads(v3.joined(base, text, self._naming)))
            return b"".join((head, *(self.third.protobuf(share, schemas) for share in shares)))

        steps = partial(self.third.steps, shares, schemas, protobuf=True)
        return DocumentForm(json, to_protobuf, v3_protobuf.MEDIA_TYPES, steps)

    def hash_of(self, path: str, shares: Sequence[Share]) -> str:
        """Return the hash of a v3 document with shares, computed from its sources."""
        return self._hash(f"{self._naming.git_version} {path}".encode(), shares)

    def index_share(self, part: Part) -> Share:
        """Return the share of a part that the release lacks: the operation that lists its contents."""
        index = part.index

        def operate(schemas: Schemas) -> Iterable[Operation]:
            return (index(),)

        return Share(operate, sha256(part.path.encode()).digest())

    def kind_share(self, resource: ResourceType, schema: StructSchema) -> KindShare:
        """Return the share of an added kind."""
        features = self._features

        def operate(schemas: Schemas) -> Iterable[Operation]:
            return Operations(schemas, features).of_version((resource,))

        return KindShare(operate, resource, schema)

    @staticmethod
    def _hash(start: bytes, shares: Iterable[Share]) -> str:
        digest = sha256(start)
        for share in shares:
            digest.update(share.digest)
        return digest.hexdigest().upper()

    def _v3_pieces(self, path: str) -> Pieces:
        if not self._v3:
            # All at once: several documents share definitions.
            renderer = v3.RendererV3(self._definitions(V3), self._naming)
            self._v3 = {each.path: renderer.pieces(each.operations(), whole=True) for each in self.parts.values()}
        return self._v3[path]

    @cached_property
    def _v2_digest(self) -> bytes:
        return sha256(self.v2.paths + self.v2.definitions).digest()

    @cached_property
    def _v2_protobuf(self) -> bytes:
        document: Document = loads(v2.joined([self.v2], self._naming))
        return v2_protobuf.encode(document)

    @cached_property
    def _common_v2(self) -> Definitions:
        return self._common(V2)

    @cached_property
    def _common_v3(self) -> Definitions:
        return self._common(V3)

    def _common(self, dialect: Dialect) -> Definitions:
        definitions = self._definitions(dialect)
        definitions.closure(_OF_EVERY_KIND)
        return definitions

    def _definitions(self, dialect: Dialect) -> Definitions:
        return Definitions(dialect, self._schemas, self.enabled, self._features)
