"""One object at rest in the cache: its encodings, and the few values that selectors and indexes need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final
from weakref import WeakValueDictionary

import attrs

from orchtw.wire.packing import Packed

NO_LABELS: Final[Mapping[str, str]] = {}
SHARED: Final = 8192  # more different texts or label sets than that are rarely shared; their table starts again
SHARED_LENGTH: Final = 256  # characters; names, label keys and values are no longer
LARGE_BYTES: Final = 64 * 1024  # objects from this size on are handed out in place, without copies that could pile up
ROW_BYTES: Final = 600  # what the cells of a Table's row take
LABEL_BYTES: Final = 200  # what a label takes beside the encodings


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
        """About how many bytes the encodings and labels hold at present."""
        return len(self.raw) + LABEL_BYTES * len(self.labels) + sum(self.forms())

    def forms(self) -> tuple[int, int, int]:
        """The same of what can be made again of `raw`: JSON, packed JSON, and other forms."""
        plain = packed = other = 0
        if type(self.json) is Packed:
            packed = len(self.json)
        elif self.json is not None and self.json is not self.raw:
            plain = len(self.json)
        if self.other is not None:
            for form in self.other.values():
                if type(form) is bytes:
                    other += len(form)
                elif type(form) is tuple:
                    other += ROW_BYTES
        return plain, packed, other


Glance = tuple[Mapping[str, str], tuple[str, ...], bytes, dict[tuple[str, ...], Any] | None]
"""Labels, fields, `raw` and `other` of an entry."""

Look = Callable[[Entry, bytes], Glance]
"""Looks into the value that the store has of an entry. It must not raise."""

_looking: Final = RLock()


class Unread(Entry):
    """An entry whose value nobody has looked into, as after a start; it becomes an `Entry` when somebody asks.

    Until then the place of `raw` has the value as the store has it, and that of `labels` what looks into it.
    """

    __slots__ = ()

    labels: Any = property(lambda self: self.look().labels)
    fields: Any = property(lambda self: self.look().fields)
    raw: Any = property(lambda self: self.look().raw)

    def look(self) -> Entry:
        """Become an `Entry`. Any thread may ask."""
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
    """The bytes of `raw`, and of one that nobody has looked into those of the store's value, a few more."""
    return len(_raw.__get__(entry))


_labels, _fields, _raw = (Entry.__dict__[name] for name in ("labels", "fields", "raw"))


def unread(key: str, namespace: str, name: str, revision: int, look: Look, value: bytes) -> Entry:
    """Return an `Unread` entry, whose value is read on demand."""
    entry = Entry(key, namespace, name, revision, look, (), value)  # type: ignore[arg-type]
    entry.__class__ = Unread
    return entry


class Texts:
    """Makes one string of equal ones. Of bounded size, as clients choose the texts (`sys.intern` would keep some)."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def share(self, text: str) -> str:
        """The string to keep in place of `text`."""
        if len(text) > SHARED_LENGTH:
            return text
        if len(self._known) >= SHARED and text not in self._known:
            self._known.clear()
        return self._known.setdefault(text, text)


class LabelSet(dict[str, str]):
    """The labels of all entries that have the same ones; gone with the last of them."""

    __slots__ = ("__weakref__",)


class LabelSets:
    """Makes one mapping of equal label sets: the pods of one workload differ in names, not in labels."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._known: WeakValueDictionary[int, LabelSet] = WeakValueDictionary()  # by hash: no key outlives its set

    def share(self, labels: Mapping[str, str] | None) -> Mapping[str, str]:
        """The mapping to keep in an entry in place of `labels`."""
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
