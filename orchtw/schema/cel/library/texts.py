"""Library functions of texts."""

from __future__ import annotations

from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.values import units_of

_LOWER: Final = {code: code + 32 for code in range(65, 91)}
_UPPER: Final = {code + 32: code for code in range(65, 91)}
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" + (
    "\u2028\u2029\u202f\u205f\u3000"
)


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise Failure(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, begin: int = 0) -> int:
    if not part:
        return begin
    if not 0 <= begin <= len(text):
        raise Failure(f"index out of range: {begin}")
    return text.find(part, begin)


def _last_index_of(text: str, part: str, end: int | None = None) -> int:
    if not part:
        return len(text) if end is None else end
    if end is None:
        return text.rfind(part)
    if not 0 <= end <= len(text):
        raise Failure(f"index out of range: {end}")
    return text.rfind(part, 0, end + len(part))


def _join(parts: list[str], between: str = "") -> str:
    return between.join(parts)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, max(count, -1))


def _split(text: str, between: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if between:
        return text.split(between, count - 1 if count > 0 else -1)
    if 0 < count < len(text):
        return [*text[: count - 1], text[count - 1 :]]
    return list(text)


def _substring(text: str, begin: int, end: int | None = None) -> str:
    if end is None:
        end = len(text)
    elif not 0 <= end <= len(text):
        raise Failure(f"index out of range: {end}")
    if not 0 <= begin <= len(text):
        raise Failure(f"index out of range: {begin}")
    if begin > end:
        raise Failure(f"invalid substring range. start: {begin}, end: {end}")
    return text[begin:end]


def _search_cost(text: str, part: str, *_: Any) -> int:
    """Searching takes longest for half of the text; the interpreter's search is linear in what it looks at."""
    return units_of(text) + units_of(part)


def _join_cost(parts: list[str], between: str = "") -> int:
    return len(parts) + (sum(map(len, parts)) + len(between) * len(parts)) // 4


def _replace_cost(text: str, old: str, new: str, count: int = -1) -> int:
    most = len(text) // len(old) if old else len(text) + 1
    return len(text) // 4 + (most if count < 0 else min(count, most)) * (1 + len(new) // 4)


def _part_cost(text: str, *_: Any) -> int:
    return len(text) // 4


FUNCTIONS: Final = (
    overload("string.contains(string) -> bool", str.__contains__, _search_cost),
    overload("string.startsWith(string) -> bool", str.startswith, lambda _, part: units_of(part)),
    overload("string.endsWith(string) -> bool", str.endswith, lambda _, part: units_of(part)),
    overload("string.charAt(int) -> string", _char_at),
    overload("string.indexOf(string) -> int", _index_of, _search_cost),
    overload("string.indexOf(string, int) -> int", _index_of, _search_cost),
    overload("string.lastIndexOf(string) -> int", _last_index_of, _search_cost),
    overload("string.lastIndexOf(string, int) -> int", _last_index_of, _search_cost),
    overload("list(string).join() -> string", _join, _join_cost),
    overload("list(string).join(string) -> string", _join, _join_cost),
    overload("string.lowerAscii() -> string", lambda text: text.translate(_LOWER), _part_cost),
    overload("string.upperAscii() -> string", lambda text: text.translate(_UPPER), _part_cost),
    overload("string.replace(string, string) -> string", _replace, _replace_cost),
    overload("string.replace(string, string, int) -> string", _replace, _replace_cost),
    overload("string.split(string) -> list(string)", _split, _part_cost),
    overload("string.split(string, int) -> list(string)", _split, _part_cost),
    overload("string.substring(int) -> string", _substring, _part_cost),
    overload("string.substring(int, int) -> string", _substring, _part_cost),
    overload("string.trim() -> string", lambda text: text.strip(_SPACE), _part_cost),
)
