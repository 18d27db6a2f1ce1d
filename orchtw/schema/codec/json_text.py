"""JSON text → values, without long pauses for other threads.

orjson parses within one call, during which no other thread runs. A text with hundreds of thousands of members takes
it a tenth of a second; such a text is parsed by Python instead, which takes longer but lets other threads run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final

import orjson

from orchtw.wire.json_values import loads

MAX_CONTAINERS: Final = 1 << 17
"""Limit of objects and lists in one value: more than 3 MiB hold of anything but nearly empty ones."""

MAX_KEYS: Final = 1 << 16
"""Limit of members of one object."""

MAX_ELEMENTS: Final = 1 << 17
"""Limit of elements of one list."""

SMALL_BYTES: Final = 128 * 1024
"""Size up to which a text is within all of these limits, and parsed too fast for others to notice."""

DENSE_PARTS: Final = 80_000
DENSE_COMMAS: Final = 400_000
"""Counts of brackets and colons, or of commas, above which Python parses: below, orjson takes 30 ms at the worst."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_EXACT_DIGITS = 18

Hook = Callable[[list[tuple[str, Any]]], Any]


def load_json(text: bytes) -> Any:
    """Parse a JSON text. Raises ValueError for anything else."""
    return loads(text) if len(text) <= SMALL_BYTES or not _is_dense(text) else _parse_dense(text, None)


def parse_json(text: bytes) -> Any:
    """Parse a client's JSON text. Raises ValueError also for one with too many parts (see `check_parts`)."""
    if len(text) <= SMALL_BYTES:
        return loads(text)
    value = _parse_dense(text, _object) if _is_dense(text) else loads(text)
    if text.count(b",") >= MAX_KEYS or _openings(text) > MAX_CONTAINERS:
        check_parts(value)
    return value


def parse_pairs(text: bytes, hook: Hook) -> Any:
    """Parse a JSON text that is known to be well-formed, with each object replaced by `hook` of its members."""
    if len(text) <= SMALL_BYTES:
        return json.loads(text, object_pairs_hook=hook)
    return _decoder(hook).decode(text.decode())


def check_parts(value: Any) -> None:
    """Raise ValueError if a JSON-shaped value has more than MAX_CONTAINERS, MAX_KEYS or MAX_ELEMENTS."""
    count, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        if type(inner) is dict:
            if len(inner) > MAX_KEYS:
                raise ValueError(TOO_MANY_KEYS)
            waiting.extend(inner.values())
        elif type(inner) is list:
            if len(inner) > MAX_ELEMENTS:
                raise ValueError(TOO_MANY_ELEMENTS)
            waiting.extend(inner)
        else:
            continue
        count += 1
        if count > MAX_CONTAINERS:
            raise ValueError(TOO_MANY_CONTAINERS)


TOO_MANY_KEYS: Final = f"an object has more than {MAX_KEYS} members"
TOO_MANY_ELEMENTS: Final = f"a list has more than {MAX_ELEMENTS} elements"
TOO_MANY_CONTAINERS: Final = f"there are more than {MAX_CONTAINERS} objects and lists"


def _is_dense(text: bytes) -> bool:
    return _openings(text) + text.count(b":") > DENSE_PARTS or text.count(b",") > DENSE_COMMAS


def _openings(text: bytes) -> int:
    """Count the text's opening brackets: an upper bound of its objects and lists."""
    return text.count(b"{") + text.count(b"[")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise ValueError(TOO_MANY_KEYS)
    return dict(pairs)


def _parse_dense(text: bytes, hook: Hook | None) -> Any:
    """Parse the text like orjson, by Python's own parser in Python."""
    try:
        value = _decoder(hook).decode(text.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if b"\\ud" in text or b"\\uD" in text:
        _check_writable(value)  # a lone surrogate may have been escaped, which Python accepts
    return value


def _check_writable(value: Any) -> None:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise ValueError(str(error)) from None


def _decoder(hook: Hook | None) -> json.JSONDecoder:
    """Return the standard library's decoder without its accelerator."""
    decoder: Any = json.JSONDecoder(
        object_pairs_hook=hook, parse_int=_integer, parse_float=_finite, parse_constant=_refuse
    )
    decoder.parse_array = JSONArray
    decoder.parse_object = JSONObject
    decoder.scan_once = py_make_scanner(decoder)
    return decoder  # type: ignore[no-any-return]


def _integer(text: str) -> int | float:
    """Convert an integer; one beyond 64 bits becomes a float, as with orjson."""
    if not text.isascii():
        raise ValueError(f"not a number: {text[:40]}")
    if len(text) > _EXACT_DIGITS and (len(text) > 20 or int(text) not in _INTEGERS):
        return _finite(text)
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not text.isascii() or number - number != 0:
        raise ValueError(f"not a finite number: {text[:40]}")
    return number


def _refuse(text: str) -> Any:
    raise ValueError(f"not a JSON value: {text}")
