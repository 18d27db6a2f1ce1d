"""The metrics of several processes as one text: each series says by the label `worker` whose it is.

They are not added up: a process that is replaced begins to count anew, which whoever adds up rates can see of its
series, but not of a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_HEAD: Final = b"# HELP "
_END: Final = b"# EOF\n"
_LABELS: Final = re.compile(rb"^([a-zA-Z_:][a-zA-Z0-9_:]*)\{", re.MULTILINE)
_NO_LABELS: Final = re.compile(rb"^([a-zA-Z_:][a-zA-Z0-9_:]*) ", re.MULTILINE)


def labelled(parts: Iterable[bytes], worker: int) -> Iterator[bytes]:
    """The text of one process, in its parts, with its number at each series."""
    label = b'worker="%d"' % worker
    for part in parts:
        yield _NO_LABELS.sub(rb"\g<1>{%s} " % label, _LABELS.sub(rb"\g<1>{%s," % label, part))


def merged(texts: Sequence[bytes], *, open_metrics: bool) -> Iterator[bytes]:
    """The families of all, each in one place: a part for each."""
    families: dict[bytes, list[bytes]] = {}
    for text in texts:
        for family in text.removesuffix(_END).split(_HEAD)[1:]:
            head, kind, series = family.split(b"\n", 2)
            found = families.setdefault(head.partition(b" ")[0], [_HEAD + head + b"\n" + kind + b"\n"])
            found.append(series)
    for parts in families.values():
        yield b"".join(parts)
    if open_metrics:
        yield _END
