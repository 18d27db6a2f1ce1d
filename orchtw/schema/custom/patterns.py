"""Patterns of schemas: matched in linear time, compiled on first use.

RE2 knows the same expressions as the API and bounds its own memory. Python's own would take a client's time for ever.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

_MEMORY_BYTES: Final = 2 << 20  # of one pattern, its automaton included; real ones take some KiB
_PATTERNS: Final = 256
_SHORT_CHARACTERS: Final = 64
_REMEMBERED: Final = 4096

_OPTIONS: Final = re2.Options()
_OPTIONS.max_mem = _MEMORY_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True


@lru_cache(maxsize=_PATTERNS)
def _compiled(pattern: str) -> Any:
    """The pattern, or why it is none, as text."""
    try:
        return re2.compile(pattern.encode(), _OPTIONS)
    except re2.error as error:
        why = error.args[0]
        return why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)


def fault(pattern: str) -> str:
    """Why a pattern cannot be matched: its syntax, or its size; empty: it can."""
    found = _compiled(pattern)
    return found if isinstance(found, str) else ""


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text; one that cannot be matched is not."""
    if len(text) <= _SHORT_CHARACTERS:
        return _remembered(pattern, text)
    return _search(pattern, text)


def _search(pattern: str, text: str) -> bool:
    found = _compiled(pattern)
    return not isinstance(found, str) and found.search(text.encode("utf-8", "surrogatepass")) is not None


# -80 % of the time for names and words, of which most come again.
_remembered = lru_cache(maxsize=_REMEMBERED)(_search)
