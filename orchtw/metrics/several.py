"""The metrics of several processes as one text: the label `worker` of each series names its process.

They are not added up: a process that is replaced counts from zero again, which `rate()` can detect in its own series,
but not in a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from orchtw.metrics.exposition import PART_BYTES

_HEAD: Final = b"# HELP "
_END: Final = b"# EOF\n"
_LABELS: Final = re.compile(rb"^([a-zA-Z_:][a-zA-Z0-9_:]*)\{", re.MULTILINE)
_NO_LABELS: Final = re.compile(rb"^([a-zA-Z_:][a-zA-Z0-9_:]*) ", re.MULTILINE)


def labelled(parts: Iterable[bytes], worker: int) -> Iterator[bytes]:
    """Yield the text of one process, in its parts, with its number added to each series."""
    label = b'worker="%d"' % worker
    for part in parts:
        yield _NO_LABELS.sub(rb"\g<1>{%s} " % label, _LABELS.sub(rb"\g<1>{%s," % label, part))


def merged(texts: Sequence[bytes], *, open_metrics: bool) -> Iterator[bytes]:
    """Yield the families of all texts, each with one head, in parts of at most PART_BYTES and one series."""
    families: dict[bytes, list[_Family]] = {}
    for text in texts:
        for family in _families(text):
            families.setdefault(family.name, []).append(family)
    for same in families.values():
        yield same[0].head
        for family in same:
            yield from _pieces(family)
    if open_metrics:
        yield _END


class _Family(msgspec.Struct, frozen=True):
    """A family in a text: its head, and the place of its series."""

    name: bytes
    head: bytes
    text: bytes
    first: int
    end: int


def _families(text: bytes) -> Iterator[_Family]:
    """Yield the families of one process; line breaks in labels are escaped, so no series looks like a head."""
    whole = len(text) - (len(_END) if text.endswith(_END) else 0)
    begin = 0 if text.startswith(_HEAD) else whole
    while begin < whole:
        following = text.find(b"\n" + _HEAD, begin, whole)
        end = whole if following < 0 else following + 1
        first = text.index(b"\n", text.index(b"\n", begin) + 1) + 1
        name = text[begin + len(_HEAD) : first].partition(b" ")[0]
        yield _Family(name, text[begin:first], text, first, end)
        begin = end


def _pieces(family: _Family) -> Iterator[bytes]:
    """Yield the series of a family, cut between lines."""
    begin = family.first
    while begin < family.end:
        line = family.text.find(b"\n", min(begin + PART_BYTES, family.end) - 1, family.end)
        end = family.end if line < 0 else line + 1
        yield family.text[begin:end]
        begin = end
