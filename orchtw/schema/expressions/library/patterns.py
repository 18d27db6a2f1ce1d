"""Regular expressions that are matched in linear time; their cost is that of the slowest way to do so."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

from orchtw.schema.expressions.faults import Failure
from orchtw.schema.expressions.frames import Frame, charge
from orchtw.schema.expressions.overloads import overload

_MEMORY_BYTES: Final = 1 << 20
"""For a compiled pattern; a larger one is refused."""

_LONGEST: Final = 1000  # characters of a pattern

_STATES_OF_UNIT: Final = 10
"""States × characters in the time of one step, with as much to spare as matchers differ."""


def _options() -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    return options


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """The matcher of a pattern. Raises Failure."""
    if len(pattern) > _LONGEST:
        raise Failure(f"error parsing regexp: expression too large: {len(pattern)} characters, limit {_LONGEST}")
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        why = error.args[0] if error.args else ""
        text = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        raise Failure(f"error parsing regexp: {text}") from error


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    match = compiled(pattern).search(text)
    return "" if match is None else str(match[0])


def _find_all(frame: Frame, text: str, pattern: str, limit: int = -1) -> list[str]:
    """Each match is looked for to the end of the text, perhaps, and paid for as if it were."""
    found: list[str] = []
    charge(frame, _cost(text, pattern))
    for match in compiled(pattern).finditer(text) if limit else ():
        if len(found) == limit:
            break
        found.append(str(match[0]))
        charge(frame, _cost(text[match.end() :], pattern))
    return found


def _cost(text: str, pattern: str, *_: Any) -> int:
    states = int(compiled(pattern).programsize)
    return 20 + len(pattern) + (len(text) + 1) * states // _STATES_OF_UNIT


FUNCTIONS: Final = (
    overload("string.matches(string) -> bool", _matches, _cost),
    overload("matches(string, string) -> bool", _matches, _cost),
    overload("string.find(string) -> string", _find, _cost),
    overload("string.findAll(string) -> list(string)", _find_all, metered=True),
    overload("string.findAll(string, int) -> list(string)", _find_all, metered=True),
)
