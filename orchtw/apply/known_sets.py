"""The memory of field sets: sets by their text, and fields of object parts by the part's text, in one cache.

A set of some hundred fields takes 10 to 20 µs to parse, and ten times its text while it is kept, so the cache is
bounded in bytes for all kinds together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Any, Final, TypeVar

from orchtw.memory.known_values import KnownValues

T = TypeVar("T")

MAX_BYTES: Final = 24 << 20

LONGEST_TEXT: Final = 8192
"""Longest text of a cached set or part, in bytes: objects of 6 KiB have two or three sets of 1 to 4 KiB."""

KNOWN_SETS: Final[KnownValues[tuple[Hashable, ...], Any]] = KnownValues(MAX_BYTES)
"""Keys are the question (its owner included) and, last, the text. `orchtw_known_sets_bytes` shows the size."""


def known(key: tuple[Hashable, ...], text: bytes, find: Callable[[], T], *, at_once: bool = True) -> T:
    """Return the cached answer to a question about a text, or what `find` returns, which is then kept.

    `at_once` False: it is kept when it comes a second time. An answer is a tree of dicts, or None.
    """
    asked = (*key, text)
    found = KNOWN_SETS.get(asked)
    if found is None:
        tree = find()
        if len(text) <= LONGEST_TEXT and (at_once or KNOWN_SETS.comes_again(asked)):
            KNOWN_SETS.keep(asked, (tree,), tree_bytes(tree) + 2 * len(text))  # the steps come from the text
        return tree
    answer: T = found[0]
    return answer


def tree_bytes(tree: object) -> int:
    """Return the memory of a tree of dicts without their keys, the steps, which most trees share."""
    if type(tree) is not dict:
        return 0
    return getsizeof(tree) + sum(map(tree_bytes, tree.values()))
