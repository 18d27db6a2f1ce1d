"""One object at rest in the cache: its encodings, and the few values that selectors and indexes need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final
from weakref import WeakValueDictionary

import attrs

from orchtw.schema.tables.cached_rows import Row
from orchtw.wire.packing import Packed

NO_LABELS: Final[Mapping[str, str]] = {}
SHARED: Final = 8192  # more different texts or label sets than that are rarely shared; their table starts again
SHARED_LENGTH: Final = 256  # characters: the limit of names, label keys and values
LARGE_BYTES: Final = 64 * 1024  # objects from this size on are handed out in place, without copies that could pile up
ROW_BYTES: Final = 280  # size of a Table's row beside its text, with the dict that has it
LABEL_BYTES: Final = 200  # size of a label beside the encodings


@attrs.define(slots=True, eq=False, weakref_slot=False)
class Entry:
    """An object at one revision; immutable but for encodings that are filled in when first asked for.

    `key` is the tail of the store key within the resource ("ns/name" or "name"). `fields` are the
    selectable fields beyond name and namespace, as text, in the resource's order. `raw` (the form at rest without
    TypeMeta: the inner Protobuf message, or for kinds that have none the same as `json`) and `json` (the JSON after
    kind and apiVersion, `Packed`, or None until asked for) are in the storage version and carry the resourceVersion;
    `other` keeps other forms of it: encodings in further versions, Table rows.
    """

    key: str
    namespace: str
    name: str
    revision: int
    labels: Mapping[str, str]
    fields: tuple[str, ...]
    raw: bytes
    json: bytes | None = None
    other: dict[tuple[str, ...], Any] | None = None

    def size(self) -> int:
        """Return about how many bytes the encodings and labels hold at present."""
        return len(self.raw) + LABEL_BYTES * len(self.labels) + sum(self.forms())

    def forms(self) -> tuple[int, int, int]:
        """Return the bytes of forms that can be made again: JSON, packed JSON, and others."""
        plain = packed = other = 0
        if type(self.json) is Packed:
            packed = len(self.json)
        elif self.json is not None and self.json is not self.raw:
            plain = len(self.json)
        if self.other is not None:
            for form in self.other.values():
                if type(form) is bytes:
                    other += len(form)
                elif type(form) is Row:
                    other += ROW_BYTES + len(form)
        return plain, packed, other


Glance = tuple[Mapping[str, str], tuple[str, ...], bytes, dict[tuple[str, ...], Any] | None]
"""Labels, fields, `raw` and `other` of an entry."""

Look = Callable[[Entry, bytes], Glance]
"""Function that reads the stored value of an entry. It must not raise."""

_looking: Final = RLock()


class Unread(Entry):
    """Entry whose value has not been read yet, as after a start; it becomes an `Entry` on first use.

    Until then `raw` holds the stored value, and `labels` its reader.
    """

    __slots__ = ()

    labels: Any = property(lambda self: self.look().labels)
    fields: Any = property(lambda self: self.look().fields)
    raw: Any = property(lambda self: self.look().raw)

    def size(self) -> int:
        """Return the bytes of the stored value: there is no other form yet."""
        return size_at_rest(self)

    def look(self) -> Entry:
        """Read the value and become an `Entry`. Safe to call from any thread."""
        entry: Entry = self
        with _looking:
            if type(entry) is not Entry:
                look: Any = _labels.__get__(self)
                labels, fields, raw, self.other = look(self, _raw.__get__(self))
                _labels.__set__(self, labels)
                _fields.__set__(self, fields)
                _raw.__set__(self, raw)
                entry.__class__ = Entry  # last: an `Entry` is always complete
        return entry


def size_at_rest(entry: Entry) -> int:
    """Return the bytes of `raw`; of an unread entry those of the stored value, a few more."""
    return len(_raw.__get__(entry))


def unread_value(entry: Entry) -> bytes | None:
    """Return the stored value of an entry that has not been read yet; None: it has been read."""
    with _looking:
        return _raw.__get__(entry) if type(entry) is Unread else None


_labels, _fields, _raw = (Entry.__dict__[name] for name in ("labels", "fields", "raw"))


def unread(key: str, namespace: str, name: str, revision: int, look: Look, value: bytes) -> Entry:
    """Return an `Unread` entry, whose value is read on demand."""
    entry = Entry(key, namespace, name, revision, look, (), value)  # type: ignore[arg-type]
    entry.__class__ = Unread
    return entry


class Texts:
    """Interning of equal strings, bounded because clients choose the texts (`sys.intern` is unbounded)."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def share(self, text: str) -> str:
        """Return the shared string equal to `text`."""
        if len(text) > SHARED_LENGTH:
            return text
        if len(self._known) >= SHARED and text not in self._known:
            self._known.clear()
        return self._known.setdefault(text, text)


class LabelSet(dict[str, str]):
    """Labels that several entries share; dropped with the last of them."""

    __slots__ = ("__weakref__",)


class LabelSets:
    """Interning of equal label sets: the pods of one workload differ in names, not in labels."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._known: WeakValueDictionary[int, LabelSet] = WeakValueDictionary()  # by hash: no key outlives its set

    def share(self, labels: Mapping[str, str] | None) -> Mapping[str, str]:
        """Return the shared mapping equal to `labels`."""
        if not labels:
            return NO_LABELS
        identity = hash(tuple(labels.items()))
        shared = self._known.get(identity)
        if shared is not None and shared == labels:
            return shared
        if len(self._known) >= SHARED:
            self._known.clear()
        share = self._texts.share
        made = self._known[identity] = LabelSet({share(key): share(value) for key, value in labels.items()})
        return made
