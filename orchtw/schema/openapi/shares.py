"""The shares of added kinds in the documents: each rendered by itself when it is first needed, and kept (OPENAPI-19)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, Protocol

import attrs

from orchtw.packing import Packed, Packer
from orchtw.schema.openapi import protobuf_v2, protobuf_v3
from orchtw.schema.openapi.documents import Pieces
from orchtw.schema.openapi.operations import Operation
from orchtw.schema.schemas import Schemas

JSON: Final = "json"
PROTOBUF: Final = "protobuf"

Key = tuple[int, str]
"""The version of OpenAPI, and the form."""

Operate = Callable[[Schemas], Iterable[Operation]]
"""Makes operations of what the schemas know at present."""


class Rendering(Protocol):
    """Makes the pieces of operations on added kinds, in one version of OpenAPI."""

    def __call__(self, operations: Iterable[Operation], schemas: Schemas, share: Share) -> Pieces:
        """The pieces, without what all kinds have in common."""
        ...


class Press:
    """Packs what shares keep: a hundredth to a tenth of it, for kinds differ in names and in their schemas alone."""

    def __init__(self) -> None:
        self._packers: dict[Key, Packer] = {}
        self._lock = Lock()

    def pack(self, key: Key, text: bytes) -> Packed:
        """The text, packed. Threads may ask at once."""
        with self._lock:
            return self._packers.setdefault(key, Packer()).pack(text)

    def unpack(self, key: Key, packed: Packed) -> bytes:
        """The text again."""
        return self._packers[key].unpack(packed)


@attrs.frozen(slots=True)
class _Kept:
    """Packed pieces: the paths are the first `split` bytes."""

    packed: Packed
    split: int
    names: frozenset[str]
    shared: frozenset[str]


class Share:
    """What a kind in one version, or the index of a part, adds to the documents.

    `digest` stands for everything that it is made from; `added` are the resources of the kind. It keeps no schemas:
    these know all kinds of their time.
    """

    def __init__(self, operate: Operate, digest: bytes) -> None:
        self.digest = digest
        self._operate = operate
        self._pieces: dict[int, _Kept] = {}
        self._protobuf: dict[int, Packed] = {}
