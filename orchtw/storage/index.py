"""Entries by the value of one attribute: who has a label's value, a field's, or a name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final

from orchtw.storage.ordered import BLOCK, NO_ENTRIES, Entries, Ordered
from orchtw.watch.entry import Entry
from orchtw.watch.selection import NAME, NAMESPACE, Selection

Attribute = tuple[str, str | int]
"""A label and its key, a field and its position, or a name."""

Asked = tuple[Attribute, str]
"""An attribute, and the value that it must have."""

VALUE_BYTES: Final = 160  # of memory for each value: its place in a table, and its list
ENTRY_BYTES: Final = 12  # for each entry: a reference, and the room that lists leave

_LABEL, _FIELD, _NAME = "label", "field", "name"
_key = attrgetter("key")


class Index:
    """The entries that have a value of the attribute, in key order for each value."""

    def __init__(self, attribute: Attribute) -> None:
        self.value_of = _reader(attribute)
        self._count = 0
        self._found: dict[str, list[Entry] | Ordered] = {}  # few are a list, which takes less

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        return len(self._found) * VALUE_BYTES + self._count * ENTRY_BYTES

    def of(self, value: str) -> Entries:
        """The entries with that value, as they are now."""
        found = self._found.get(value)
        if found is None:
            return NO_ENTRIES
        return Entries.run(found) if isinstance(found, list) else found.snapshot()

    def change(self, old: Entry | None, new: Entry | None) -> None:
        """`new` has taken the place of `old`, which has not come to be known here yet, perhaps."""
        if old is not None and (new is None or self.value_of(old) != self.value_of(new)):
            self._remove(old)
        if new is not None:
            self.put(new)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Take in many, of which each follows those that are there, in most cases."""
        value_of, find = self.value_of, self._found.get
        for entry in entries:
            value = value_of(entry)
            if value is None:
                continue
            found = find(value)
            if type(found) is list and len(found) < BLOCK and found[-1].key < entry.key:
                found.append(entry)
                self._count += 1
            else:
                self.put(entry)

    def put(self, entry: Entry) -> None:
        """Take an entry in, in place of one with the same key and value."""
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


def asked(selection: Selection) -> list[Asked]:
    """What an index could be asked for: attributes of which the selection wants one value, the best ones first."""
    found: list[Asked] = []
    for name, equal, value in () if selection.fields is None else selection.fields.terms:
        if equal and name == NAME:
            found.insert(0, ((_NAME, ""), value))
        elif equal and name != NAMESPACE:
            found.append(((_FIELD, selection.field_names.index(name)), value))
    if selection.labels is not None:
        found += [((_LABEL, key), value) for key, value in selection.labels.equalities]
    return found


def _reader(attribute: Attribute) -> Callable[[Entry], str | None]:
    """What gives an entry's value; None: it has none."""
    kind, which = attribute
    if kind == _LABEL:
        label = str(which)
        return lambda entry: entry.labels.get(label)
    if kind == _FIELD:
        position = int(which)
        return lambda entry: entry.fields[position]
    return attrgetter("name")


def _insert(found: list[Entry], entry: Entry) -> bool:
    """Put an entry in its place; whether there was none with its key."""
    place = bisect_left(found, entry.key, key=_key)
    if place < len(found) and found[place].key == entry.key:
        found[place] = entry
        return False
    found.insert(place, entry)
    return True


def _delete(found: list[Entry], key: str) -> None:
    """Raises KeyError where there is none with that key."""
    place = bisect_left(found, key, key=_key)
    if place == len(found) or found[place].key != key:
        raise KeyError(key)
    del found[place]
