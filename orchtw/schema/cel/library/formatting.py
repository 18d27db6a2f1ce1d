"""Library functions that write values into texts: `format`, and `strings.quote`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.frames import Frame, charge
from orchtw.schema.cel.library.moments import duration_text, timestamp_text
from orchtw.schema.cel.library.operators import double_text
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.types import Type
from orchtw.schema.cel.values import Duration, Timestamp, Unsigned, extent, type_name, units_of

_CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.(\d+))?(.?))", re.DOTALL)
_MOST_DIGITS: Final = 100  # behind a point
_DIGITS: Final = 6
_LONG_NAMES: Final = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_PLAIN: Final = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
_ESCAPES: Final = {sign: f"\\{name}" for sign, name in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)}


def _misfit(what: str, value: Any) -> Failure:
    name = type_name(value)
    return Failure(f"error during formatting: {what}, was given {_LONG_NAMES.get(name, name)}")


def _special(number: float) -> str:
    """Return the name of an infinite number or NaN; empty for all others."""
    if math.isfinite(number):
        return ""
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def shown(value: Any) -> str:
    """Return the text of a value. Raises Failure for a value of a type that cannot be formatted."""
    if type(value) is list:
        return f"[{', '.join(map(shown, value))}]"
    if type(value) is dict:
        entries = sorted((shown(key), shown(each)) for key, each in value.items())
        return f"{{{', '.join(f'{key}: {each}' for key, each in entries)}}}"
    text = _TEXTS.get(type(value))
    if text is None:
        raise _misfit(f"string clause can only be used on {_PLAIN}", value)
    return text(value)


_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    bytes: lambda value: value.decode("utf-8", "replace"),
    int: str,
    Unsigned: lambda value: str(int(value)),
    float: lambda value: _special(value) or double_text(value),
    Type: str,
    Timestamp: timestamp_text,
    Duration: duration_text,
    type(None): lambda value: "null",
}


def _string(value: Any, digits: int) -> str:
    return shown(value)


def _decimal(value: Any, digits: int) -> str:
    if type(value) in (int, Unsigned):
        return str(int(value))
    if type(value) is float and (special := _special(value)):
        return special
    raise _misfit("decimal clause can only be used on integers", value)


def _float(clause: str, name: str) -> Callable[[Any, int], str]:
    def text(value: Any, digits: int) -> str:
        if type(value) not in (int, Unsigned, float):
            raise _misfit(f"{name} clause can only be used on doubles", value)
        number = float(value)
        return _special(number) or f"{number:.{digits}{clause}}"

    return text


def _binary(value: Any, digits: int) -> str:
    if type(value) in (int, Unsigned, bool):
        return f"{int(value):b}"
    raise _misfit("only integers and bools can be formatted as binary", value)


def _hexadecimal(clause: str) -> Callable[[Any, int], str]:
    def text(value: Any, digits: int) -> str:
        if type(value) in (int, Unsigned):
            return f"{int(value):{clause}}"
        if type(value) not in (str, bytes):
            raise _misfit("only integers, byte buffers, and strings can be formatted as hex", value)
        found = (value.encode() if type(value) is str else value).hex()
        return str(found.upper() if clause == "X" else found)

    return text


def _octal(value: Any, digits: int) -> str:
    if type(value) in (int, Unsigned):
        return f"{int(value):o}"
    raise _misfit("octal clause can only be used on integers", value)


_CLAUSES: Final[Mapping[str, Callable[[Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _float("f", "fixed-point"),
    "e": _float("e", "scientific"),
    "b": _binary,
    "x": _hexadecimal("x"),
    "X": _hexadecimal("X"),
    "o": _octal,
}


def _pieces(frame: Frame, text: str, values: list[Any]) -> Iterator[str]:
    position, index = 0, 0
    for match in _CLAUSE.finditer(text):
        yield text[position : match.start()]
        position = match.end()
        percent, digits, clause = match.groups()
        if percent:
            yield "%"
            continue
        if not clause:
            raise Failure("could not parse formatting clause: unexpected end of string")
        if index >= len(values):
            raise Failure(f"index {index} out of range")
        if clause not in _CLAUSES:
            raise Failure(f'could not parse formatting clause: unrecognized formatting clause "{clause}"')
        count = _DIGITS if digits is None else int(digits[:4])
        if count > _MOST_DIGITS:
            raise Failure(f"could not parse formatting clause: precision {count} exceeds {_MOST_DIGITS}")
        charge(frame, extent(values[index]))
        yield _CLAUSES[clause](values[index], count)
        index += 1
    yield text[position:]


def _format(frame: Frame, text: str, values: list[Any]) -> str:
    charge(frame, units_of(text) + text.count("%"))
    return "".join(_pieces(frame, text, values))


def _quote(text: str) -> str:
    return f'"{"".join(_ESCAPES.get(sign, sign) for sign in text)}"'


FUNCTIONS: Final = (
    overload("string.format(list(dyn)) -> string", _format, metered=True),
    overload("strings.quote(string) -> string", _quote, len, namespaced=True),
)
