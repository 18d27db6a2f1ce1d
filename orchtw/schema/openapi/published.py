"""The documents of one server as bytes: made when first asked for, then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import sha256
from typing import Any

import attrs
import orjson

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.openapi import protobuf_v2, protobuf_v3, v2, v3
from orchtw.schema.openapi.definitions import V2, V3, Definitions, Dialect
from orchtw.schema.openapi.documents import parts
from orchtw.schema.schemas import Schemas


@attrs.frozen(slots=True)
class Encoded:
    """A document in one format; `hash` is of its bytes, in upper-case hexadecimal digits."""

    body: bytes
    hash: str

    @classmethod
    def of(cls, body: bytes) -> Encoded:
        """The document whose bytes are `body`."""
        return cls(body, sha256(body).hexdigest().upper())


class Form:
    """One document: its JSON bytes, and from these its Protobuf bytes if somebody wants them.

    `protobuf_types` are the media types of the Protobuf form, that of answers first.
    """

    def __init__(self, json: bytes, to_protobuf: Callable[[Any], bytes], protobuf_types: tuple[str, ...]) -> None:
        self.json = Encoded.of(json)
        self.protobuf_types = protobuf_types
        self._to_protobuf = to_protobuf

    def changed(self, change: Callable[[bytes], bytes]) -> Form:
        """The document that `change` makes of this one's JSON."""
        return Form(change(self.json.body), self._to_protobuf, self.protobuf_types)

    @cached_property
    def protobuf(self) -> Encoded:
        """The Protobuf form."""
        return Encoded.of(self._to_protobuf(orjson.loads(self.json.body)))


class Published:
    """What is published about the `enabled` resources, under the names of the schemas' vocabulary.

    Only bytes are kept, and `schemas` as they are now: other resources are another `Published`.
    """

    def __init__(self, schemas: Schemas, enabled: Iterable[ResourceType]) -> None:
        self._schemas = schemas.copy()
        self._enabled = tuple(enabled)
        self._index: Encoded | None = None
        self._parts = parts(self._schemas, self._enabled)

    @property
    def v3_paths(self) -> Iterable[str]:
        """The paths that have a v3 document, such as "apis/apps/v1"."""
        return (part.path for part in self._parts)

    @cached_property
    def v2(self) -> Form:
        """The v2 document."""
        operations = (operation for part in self._parts for operation in part.operations())
        document = v2.document(operations, self._definitions(V2), self._schemas.naming)
        return Form(orjson.dumps(document), protobuf_v2.encode, protobuf_v2.MEDIA_TYPES)

    @cached_property
    def v3(self) -> dict[str, Form]:
        """The v3 documents by path; definitions that several of them have are made once."""
        definitions, found = self._definitions(V3), {}
        for part in self._parts:
            document = v3.document(part.operations(), definitions, self._schemas.naming)
            found[part.path] = Form(orjson.dumps(document), protobuf_v3.encode, protobuf_v3.MEDIA_TYPES)
        return found

    def index(self, root: str) -> Encoded:
        """The index of the v3 documents, which are served below `root`: where each is, with its hash."""
        if self._index is None:
            paths = {
                path: {"serverRelativeURL": f"{root}/{path}?hash={form.json.hash}"} for path, form in self.v3.items()
            }
            self._index = Encoded.of(orjson.dumps({"paths": paths}))
        return self._index

    def _definitions(self, dialect: Dialect) -> Definitions:
        return Definitions(dialect, self._schemas, self._enabled)
