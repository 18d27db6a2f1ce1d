"""Selection among many entries, in steps: an entry's labels may have to be read first."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from orchtw.storage.cache.indexes import Indexes
from orchtw.storage.cache.union import Candidates
from orchtw.watch.entry import Entry
from orchtw.watch.selection import NAMESPACE, Selection

STRIDE: Final = 16  # entries tested between two looks at the clock: a millisecond, if each must be read first


Found = Generator[None, None, tuple[list[Entry], int]]
"""Steps that return some entries, and the number examined for them."""


def selected(entries: Candidates, selection: Selection, indexes: Indexes, limit: int = 0) -> Found:
    """Return the selected entries, up to one more than `limit` (0: all); tell `indexes` of entries examined in vain.

    They are told even if the reader gives up: a search too slow without an index must lead to one.
    """
    matches = selection.matches
    found: list[Entry] = []
    seen = 0
    try:
        for block in entries.blocks():
            for start in range(0, len(block), STRIDE):
                some = block[start : start + STRIDE]
                seen += len(some)
                found += [entry for entry in some if matches(entry)]
                if limit and len(found) > limit:
                    return found[: limit + 1], seen
                yield
        return found, seen
    finally:
        indexes.looked(selection, seen, len(found))


def namespace_of(selection: Selection) -> str:
    """Return the namespace that everything selected is in; "": it may be in any."""
    terms = () if selection.namespace or selection.fields is None else selection.fields.terms
    return next((value for name, equal, value in terms if equal and name == NAMESPACE), selection.namespace)


def range_of(namespace: str, start: str) -> tuple[str, str]:
    """Return the first key of a namespace from `start` on, and the first one after the namespace."""
    if not namespace:
        return start, ""
    return max(start, f"{namespace}/"), f"{namespace}0"  # "0" follows "/"
