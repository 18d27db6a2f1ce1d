"""Patterns of schemas: matched in linear time, compiled on first use.

RE2 knows the same expressions as the API and bounds its own memory. Python's own would take a client's time for ever.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any, Final

from orchtw.values import patterns

_SMALL_BYTES: Final = 256 * 1024  # of one pattern, its automaton included; real ones take some KiB
_LARGE_BYTES: Final = 2 << 20
_SMALL_KEPT: Final = 256
_LARGE_KEPT: Final = 16
_LONGEST: Final = 32 * 1024  # characters: what is longer is refused whatever it says, and nothing is kept of it
_SHORT_CHARACTERS: Final = 64
_REMEMBERED: Final = 4096
_TOO_LARGE: Final = "pattern too large - compile failed"
_QUICK: Final = 64
"""Patterns that are compiled in some milliseconds together, if none of them is heavy."""

_PATTERN: Final = re.compile(rb'"pattern":"((?:[^"\\\\]|\\\\.)*)"')
_HEAVY: Final = re.compile(rb"\\\\[pP]|\{\d*,?\d{3,}|\)\{\d*,?\d{2,}")
"""Patterns in JSON that are costly to compile: classes of Unicode, hundreds of repetitions, tens of groups.

Such patterns may take 30 ms each.
"""


def _compile(max_bytes: int, pattern: str) -> Any:
    """Compile a pattern; return the error as text if it is malformed."""
    try:
        return patterns.compiled(pattern.encode("utf-8", "surrogatepass"), max_bytes, captures=False)
    except ValueError as error:
        return str(error)


_small: Final = lru_cache(maxsize=_SMALL_KEPT)(partial(_compile, _SMALL_BYTES))
_large: Final = lru_cache(maxsize=_LARGE_KEPT)(partial(_compile, _LARGE_BYTES))


def _compiled(pattern: str) -> Any:
    found = _small(pattern)
    return _large(pattern) if isinstance(found, str) else found


@lru_cache(maxsize=_REMEMBERED)
def _judged(pattern: str) -> tuple[str, int]:
    found = _compiled(pattern)
    return (found, 0) if isinstance(found, str) else ("", found._regexp.ProgramSize())  # noqa: SLF001


def fault(pattern: str) -> str:
    """Return the fault of a pattern, its syntax or its size, or "" if it can be matched."""
    return _TOO_LARGE if len(pattern) > _LONGEST else _judged(pattern)[0]


def size(pattern: str) -> int:
    """Return the number of states of a pattern: the cost of compiling it."""
    return 0 if len(pattern) > _LONGEST else _judged(pattern)[1]


def are_heavy(schema: bytes) -> bool:
    """Report whether the patterns in a schema's JSON may take long to compile, together."""
    found = set(_PATTERN.findall(schema))
    return len(found) > _QUICK or any(_HEAVY.search(each) for each in found)


def matches(pattern: str, text: str) -> bool:
    """Report whether the pattern is found in the text; one that cannot be matched is not."""
    if len(pattern) > _LONGEST:
        return False
    if len(text) <= _SHORT_CHARACTERS:
        return _remembered(pattern, text)
    return _search(pattern, text)


def _search(pattern: str, text: str) -> bool:
    found = _compiled(pattern)
    return not isinstance(found, str) and found.search(text.encode("utf-8", "surrogatepass")) is not None


# -80 % of the time for names and words, of which most come again.
_remembered = lru_cache(maxsize=_REMEMBERED)(_search)
