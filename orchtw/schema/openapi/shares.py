"""The shares of added kinds in the documents: each is rendered by itself on first use, and kept.

A document is joined from them as bytes, so that a change of one kind costs no more than rendering that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any, Final

import msgspec

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.nodes import StructSchema
from orchtw.schema.openapi.definitions import Definitions
from orchtw.schema.openapi.documents import Pieces
from orchtw.schema.openapi.operations import Operation
from orchtw.schema.schemas import Schemas
from orchtw.wire.packing import Packed, Packer

Operate = Callable[[Schemas], Iterable[Operation]]
"""Function that makes the operations of a share, given the schemas."""

Render = Callable[[Iterable[Operation], Definitions], Pieces]
Step = Callable[[], None]

AT_ONCE: Final = 16
"""Number of shares that are rendered in one step, some 50 ms: the thread has other work too."""

Encode = Callable[[Mapping[str, Any], Mapping[str, Any]], bytes]
"""Function that returns the Protobuf form of paths and definitions, to be appended to that of others."""


class Share:
    """Share of a kind in one version, or of a part's index, in the documents.

    `digest` is the hash of its sources; `added` is the kind's resource. No schemas are kept: they would keep all
    other kinds of their time alive.
    """

    __slots__ = ("added", "digest", "kept", "operate")

    def __init__(self, operate: Operate, digest: bytes, added: Sequence[ResourceType] = ()) -> None:
        self.operate = operate
        self.digest = digest
        self.added = added
        self.kept: dict[object, Any] = {}


class KindShare(Share):
    """Share of a kind; `schema` is the kind's schema when it was made."""

    __slots__ = ("schema",)

    def __init__(self, operate: Operate, resource: ResourceType, schema: StructSchema) -> None:
        digest = sha256(repr(resource).encode())
        digest.update(_source(schema))
        super().__init__(operate, digest.digest(), (resource,))
        self.schema = schema

    def is_of(self, resource: ResourceType, schema: StructSchema) -> bool:
        """Report whether the share is still that of `resource` with `schema`."""
        same = schema is self.schema or (_source(schema) != b"" and _source(schema) == _source(self.schema))
        return same and self.added == (resource,)


def _source(schema: StructSchema) -> bytes:
    return schema.source if isinstance(schema, CustomSchema) else b""


class _PackedPieces(msgspec.Struct, frozen=True):
    """Pieces in packed form; the paths are the first `split` bytes."""

    text: Packed
    split: int
    names: frozenset[str]
    shared: frozenset[str]


class Edition:
    """Renders shares in one version of OpenAPI, and keeps the results in the shares, packed: kinds differ little.

    `common` makes the definitions that all kinds share.
    """

    def __init__(self, common: Callable[[], Definitions], render: Render, encode: Encode) -> None:
        self._common = common
        self._render = render
        self._encode = encode
        self._json, self._protobuf = Packer(), Packer()
        self._packing = Lock()  # several threads may pack

    def steps(self, shares: Iterable[Share], schemas: Schemas, *, protobuf: bool = False) -> Iterator[Step]:
        """Yield the work to do before `pieces`, or `protobuf`, of all these shares are available at once."""
        make = self.protobuf if protobuf else self.pieces
        lacking = [share for share in shares if ((self, "protobuf") if protobuf else self) not in share.kept]
        for start in range(0, len(lacking), AT_ONCE):
            yield partial(_make_all, make, lacking[start : start + AT_ONCE], schemas)

    def pieces(self, share: Share, schemas: Schemas) -> Pieces:
        """Return the pieces of a share, whose definitions are those of its kind alone."""
        found: _PackedPieces | None = share.kept.get(self)
        if found is not None:
            text = self._json.unpack(found.text)
            return Pieces(text[: found.split], text[found.split :], found.names, found.shared)
        definitions = self._common().with_added(schemas, share.added)
        made = self._render(share.operate(schemas), definitions)
        with self._packing:
            packed = self._json.pack(made.paths + made.definitions)
        share.kept[self] = _PackedPieces(packed, len(made.paths), made.names, made.shared)
        return made

    def protobuf(self, share: Share, schemas: Schemas) -> bytes:
        """Return the Protobuf form of a share."""
        found: Packed | None = share.kept.get((self, "protobuf"))
        if found is not None:
            return self._protobuf.unpack(found)
        made = self._encode(*self.pieces(share, schemas).documents())
        with self._packing:
            share.kept[self, "protobuf"] = self._protobuf.pack(made)
        return made


def _make_all(make: Callable[[Share, Schemas], object], shares: Iterable[Share], schemas: Schemas) -> None:
    for share in shares:
        make(share, schemas)
