"""Regular expressions that are matched in linear time; their cost is that of the slowest way to do so."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.frames import PATTERNS, Frame, charge
from orchtw.schema.cel.overloads import overload
from orchtw.values import patterns

_MEMORY_BYTES: Final = 128 * 1024
"""Memory limit of a compiled pattern; a larger one is refused. The largest is compiled in 5 ms."""

_LONGEST: Final = 1000  # characters of a pattern
_STEPS_OF_STATE: Final = 8  # while a pattern is compiled
_STATES_OF_STEP: Final = 10
"""States × characters in the time of one step, with as much to spare as matchers differ."""

TAKING_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
"""Functions whose second argument, the target among them, is a pattern."""


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """Return the matcher of a pattern. Raises Failure."""
    if len(pattern) > _LONGEST:
        raise Failure(f"error parsing regexp: expression too large: {len(pattern)} characters, limit {_LONGEST}")
    try:
        return patterns.compiled(pattern, _MEMORY_BYTES)
    except ValueError as error:
        raise Failure(f"error parsing regexp: {error}") from error


def _matcher(frame: Frame, text: str, pattern: str) -> Any:
    """Return a matcher of the pattern; charges for the search of the text, and for compiling a new pattern."""
    found = frame[PATTERNS].get(pattern)
    if found is None:
        found = compiled(pattern)
        charge(frame, len(pattern) + int(found.programsize) * _STEPS_OF_STATE)
    charge(frame, _cost(found, len(text)))
    return found


def _cost(matcher: Any, characters: int) -> int:
    return 20 + (characters + 1) * int(matcher.programsize) // _STATES_OF_STEP


def _matches(frame: Frame, text: str, pattern: str) -> bool:
    return _matcher(frame, text, pattern).search(text) is not None


def _find(frame: Frame, text: str, pattern: str) -> str:
    match = _matcher(frame, text, pattern).search(text)
    return "" if match is None else str(match[0])


def _find_all(frame: Frame, text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return each match is looked for to the end of the text, perhaps, and paid for as if it were."""
    found: list[str] = []
    matcher = _matcher(frame, text, pattern)
    for match in matcher.finditer(text) if limit else ():
        if len(found) == limit:
            break
        found.append(str(match[0]))
        charge(frame, _cost(matcher, len(text) - match.end()))
    return found


FUNCTIONS: Final = (
    overload("string.matches(string) -> bool", _matches, metered=True),
    overload("matches(string, string) -> bool", _matches, metered=True),
    overload("string.find(string) -> string", _find, metered=True),
    overload("string.findAll(string) -> list(string)", _find_all, metered=True),
    overload("string.findAll(string, int) -> list(string)", _find_all, metered=True),
)
