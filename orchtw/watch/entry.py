"""One object at rest in the cache: its encodings, and the few values that selectors and indexes need."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any, Final

import attrs

NO_LABELS: Final[Mapping[str, str]] = {}
SHARED_LABEL_SETS: Final = 10_000  # more different sets than that are rarely shared; the table starts again


@attrs.define(slots=True, eq=False, weakref_slot=False)
class Entry:
    """An object at one revision; immutable but for encodings that are filled in when first asked for.

    `key` is the tail of the store key within the resource ("ns/name" or "name"). `fields` are the
    selectable fields beyond name and namespace, as text, in the resource's order. `proto` (inner Protobuf
    message, without TypeMeta) and `json` (the JSON after kind and apiVersion, or None until asked for) are
    in the storage version and carry the resourceVersion; `other` keeps other forms of it: encodings in
    further versions, Table rows.
    """

    key: str
    namespace: str
    name: str
    revision: int
    labels: Mapping[str, str]
    fields: tuple[str, ...]
    proto: bytes
    json: bytes | None = None
    other: dict[tuple[str, ...], Any] | None = None

    def size(self) -> int:
        """Bytes that the encodings of the storage version hold at present."""
        return len(self.proto) + (len(self.json) if self.json is not None else 0)


class LabelSets:
    """Makes one mapping of equal label sets: the pods of one workload differ in names, not in labels."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def share(self, labels: Mapping[str, str] | None) -> Mapping[str, str]:
        """The mapping to keep in an entry in place of `labels`."""
        if not labels:
            return NO_LABELS
        identity = tuple(labels.items())
        shared = self._known.get(identity)
        if shared is None:
            if len(self._known) >= SHARED_LABEL_SETS:
                self._known.clear()
            shared = self._known[identity] = {intern(key): intern(value) for key, value in identity}
        return shared
