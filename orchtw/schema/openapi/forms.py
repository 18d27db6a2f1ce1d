"""Documents as bytes, in each format, and a bounded cache of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Final, Generic, TypeVar

import msgspec

KEPT_BYTES: Final = 16 << 20
"""Limit of the cached documents that are joined on demand; the least recently used are joined again when needed."""

T = TypeVar("T")


class Encoded(msgspec.Struct, frozen=True):
    """A document in one format; `hash` is in upper-case hexadecimal digits."""

    body: bytes
    hash: str

    @classmethod
    def of(cls, body: bytes) -> Encoded:
        """Return the document whose bytes are `body`, with their hash."""
        return cls(body, sha256(body).hexdigest().upper())


class DocumentForm:
    """One document: its JSON bytes, and its Protobuf bytes, which are made from these on demand.

    `protobuf_types` are the media types of the Protobuf form, that of responses first; `steps` is the remaining work
    before that form can be made at once.
    """

    def __init__(
        self,
        json: Encoded,
        to_protobuf: Callable[[], bytes],
        protobuf_types: tuple[str, ...],
        steps: Callable[[], Iterable[Callable[[], None]]] = tuple,
    ) -> None:
        self.json = json
        self.protobuf_types = protobuf_types
        self.steps = steps
        self._to_protobuf = to_protobuf

    @cached_property
    def protobuf(self) -> Encoded:
        """The document in Protobuf."""
        return Encoded.of(self._to_protobuf())


class KeptForms(Generic[T]):
    """The values that were used last, at most KEPT_BYTES of them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, make: Callable[[], T], size_bytes: Callable[[T], int]) -> T:
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
