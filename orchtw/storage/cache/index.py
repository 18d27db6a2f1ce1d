"""Entries by the value of one attribute: a label or its presence, a field, or a name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final

import msgspec

from orchtw.storage.cache.ordered import BLOCK, NO_ENTRIES, Entries, Ordered
from orchtw.storage.cache.union import Candidates, united
from orchtw.watch.entry import Entry
from orchtw.watch.selection import NAME, NAMESPACE, Selection

Attribute = tuple[str, str | int]
"""Attribute: a label, the presence of a label, a field by its position, or a name.

`_LABEL_OR_NONE` is a label too, with the value `ABSENT` for entries without it: its index has all entries.
"""


class Wanted(msgspec.Struct, frozen=True):
    """Term that an index can answer: an attribute has one of some values; `others`: any but these.

    The presence of a label is an attribute with one value, which is empty.
    """

    attribute: Attribute
    values: tuple[str, ...]
    others: bool = False

    @property
    def kind(self) -> str:
        """Kind of the attribute, as metrics and logs name it."""
        kind = self.attribute[0]
        return _LABEL if kind in (_HAS, _LABEL_OR_NONE) else kind


MAX_ASKED: Final = 16  # of one selection: a client may ask for very many
MAX_VALUES: Final = 64  # that are looked up for one list: each takes some microseconds
VALUE_BYTES: Final = 160  # of memory for each value: its place in a table, and its list
ENTRY_BYTES: Final = 12  # for each entry: a reference, and the room that lists leave

ABSENT: Final = "\0"  # the value of no label

_LABEL, _HAS, _LABEL_OR_NONE, _FIELD, _NAME = "label", "has", "label or none", "field", "name"
_key = attrgetter("key")


class CacheIndex:
    """Entries that have a value of the attribute, in key order for each value."""

    def __init__(self, attribute: Attribute) -> None:
        self.value_of = reader(attribute)
        self._count = 0
        self._found: dict[str, list[Entry] | Ordered] = {}  # few are a list, which takes less

    @property
    def bytes(self) -> int:
        """Approximate memory of the index."""
        return len(self._found) * VALUE_BYTES + self._count * ENTRY_BYTES

    def of(self, value: str) -> Entries:
        """Return the entries with that value, as they are now."""
        found = self._found.get(value)
        if found is None:
            return NO_ENTRIES
        return Entries.run(found) if isinstance(found, list) else found.snapshot()

    def wanted(self, wanted: Wanted) -> Candidates | None:
        """Return the entries that match a term; None: they have too many different values."""
        values: Sequence[str] = wanted.values
        if wanted.others:
            if len(self._found) > MAX_VALUES:
                return None
            values = [value for value in self._found if value not in wanted.values]
        if len(values) == 1:
            return self.of(values[0])
        return united([self.of(value) for value in values]) if len(values) <= MAX_VALUES else None

    def change(self, old: Entry | None, new: Entry | None) -> None:
        """Replace `old`, which the index may not have yet, with `new`."""
        if old is not None and (new is None or self.value_of(old) != self.value_of(new)):
            self._remove(old)
        if new is not None:
            self.put(new)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Add many entries, most of which follow those already there."""
        value_of, find = self.value_of, self._found.get
        appended = 0
        for entry in entries:
            value = value_of(entry)
            if value is None:
                continue
            found = find(value)
            if type(found) is list and len(found) < BLOCK and found[-1].key < entry.key:
                found.append(entry)
                appended += 1
            else:
                self.put(entry)
        self._count += appended

    def put(self, entry: Entry) -> None:
        """Add an entry, in place of one with the same key and value."""
        value = self.value_of(entry)
        if value is None:
            return
        found = self._found.get(value)
        if found is None:
            self._found[value] = [entry]
            self._count += 1
        elif isinstance(found, list):
            self._count += _insert(found, entry)
            if len(found) > BLOCK:
                self._found[value] = Ordered(found)
        else:
            self._count += found.put(entry)

    def _remove(self, entry: Entry) -> None:
        value = self.value_of(entry)
        found = None if value is None else self._found.get(value)
        if value is None or found is None:
            return
        try:
            _delete(found, entry.key) if isinstance(found, list) else found.remove(entry.key)
        except KeyError:
            return
        self._count -= 1
        if not found if isinstance(found, list) else found.empty:
            del self._found[value]


def asked(selection: Selection) -> list[Wanted]:
    """Return the terms of a selection that indexes could answer, the rarest first."""
    found: list[Wanted] = []
    excluded: dict[Attribute, list[str]] = {}
    for name, equal, value in () if selection.fields is None else selection.fields.terms:
        if equal and name == NAME:
            found.insert(0, Wanted((_NAME, ""), (value,)))
        elif equal and name != NAMESPACE:
            found.append(Wanted((_FIELD, selection.field_names.index(name)), (value,)))
        elif name not in (NAME, NAMESPACE):
            excluded.setdefault((_FIELD, selection.field_names.index(name)), []).append(value)
    if selection.labels is not None:
        choices, exclusions = selection.labels.choices, selection.labels.exclusions
        found += [Wanted((_LABEL, key), values) for key, values in choices if values]
        found += [Wanted((_HAS, key), ("",)) for key, values in choices if not values]
        found += [Wanted((_LABEL_OR_NONE, key), (ABSENT,)) for key, values in exclusions if not values]
        for key, values in exclusions:
            if values:
                excluded.setdefault((_LABEL_OR_NONE, key), []).extend(values)
    found += [Wanted(attribute, tuple(values), others=True) for attribute, values in excluded.items()]
    return found[:MAX_ASKED]


def share(wanted: Wanted, entries: Sequence[Entry]) -> float:
    """Return the fraction of entries that match a term."""
    value_of = reader(wanted.attribute)
    has = sum((value_of(entry) in wanted.values) is not wanted.others for entry in entries)
    return has / len(entries) if entries else 0.0


def reader(attribute: Attribute) -> Callable[[Entry], str | None]:
    """Return a function that reads an entry's value, or None."""
    kind, which = attribute
    if kind == _LABEL:
        label = str(which)
        return lambda entry: entry.labels.get(label)
    if kind == _LABEL_OR_NONE:
        label = str(which)
        return lambda entry: entry.labels.get(label, ABSENT)
    if kind == _HAS:
        label = str(which)
        return lambda entry: "" if label in entry.labels else None
    if kind == _FIELD:
        position = int(which)
        return lambda entry: entry.fields[position]
    return attrgetter("name")


def _insert(found: list[Entry], entry: Entry) -> bool:
    """Insert an entry at its place; returns whether its key is new."""
    place = bisect_left(found, entry.key, key=_key)
    if place < len(found) and found[place].key == entry.key:
        found[place] = entry
        return False
    found.insert(place, entry)
    return True


def _delete(found: list[Entry], key: str) -> None:
    """Delete the entry with a key. Raises KeyError if there is none."""
    place = bisect_left(found, key, key=_key)
    if place == len(found) or found[place].key != key:
        raise KeyError(key)
    del found[place]
