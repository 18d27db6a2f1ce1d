"""JSON text → values, in time that no text stretches for other threads.

orjson parses within one call, during which no other thread runs. Of a text with hundreds of thousands of members that
takes a tenth of a second; such a text is parsed by Python instead, which takes longer and lets others in between.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final

import orjson

MAX_CONTAINERS: Final = 1 << 17
"""Objects and lists of one value: more than 3 MiB hold of anything but empty ones."""

SMALL_BYTES: Final = 128 * 1024
"""What is smaller is not dense enough to matter."""

DENSE: Final = 80_000
"""Brackets and colons from which on a text is parsed in Python: below, orjson takes some 30 ms at the worst."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_EXACT_DIGITS = 18

Hook = Callable[[list[tuple[str, Any]]], Any]


def load_json(text: bytes) -> Any:
    """The value of a JSON text. Raises ValueError for what is none."""
    if len(text) <= SMALL_BYTES or _openings(text) + text.count(b":") <= DENSE:
        return orjson.loads(text)
    return _parse_dense(text)


def parse_json(text: bytes) -> Any:
    """The same of a client's text. Raises ValueError also for more than MAX_CONTAINERS."""
    value = load_json(text)
    if len(text) > MAX_CONTAINERS and _openings(text) > MAX_CONTAINERS and too_many_containers(value):
        raise ValueError(f"more than {MAX_CONTAINERS} objects and lists")
    return value


def _openings(text: bytes) -> int:
    """No fewer than the text has objects and lists."""
    return text.count(b"{") + text.count(b"[")


def parse_pairs(text: bytes, hook: Hook) -> Any:
    """The value of a JSON text that is known to be well-formed, with what `hook` makes of every object's members."""
    if len(text) <= SMALL_BYTES:
        return json.loads(text, object_pairs_hook=hook)
    return _decoder(hook).decode(text.decode())


def too_many_containers(value: Any) -> bool:
    """Whether a JSON-shaped value consists of more than MAX_CONTAINERS objects and lists."""
    count, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        if type(inner) is dict:
            waiting.extend(inner.values())
        elif type(inner) is list:
            waiting.extend(inner)
        else:
            continue
        count += 1
        if count > MAX_CONTAINERS:
            return True
    return False


def _parse_dense(text: bytes) -> Any:
    """What orjson makes of the text, by Python's own parser in Python."""
    try:
        value = _decoder(None).decode(text.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if b"\\ud" in text or b"\\uD" in text:
        orjson.dumps(value)  # refuses half characters, which Python lets pass
    return value


def _decoder(hook: Hook | None) -> json.JSONDecoder:
    """The standard library's decoder without its accelerator."""
    decoder: Any = json.JSONDecoder(
        object_pairs_hook=hook, parse_int=_integer, parse_float=_finite, parse_constant=_refuse
    )
    decoder.parse_array = JSONArray
    decoder.parse_object = JSONObject
    decoder.scan_once = py_make_scanner(decoder)
    return decoder  # type: ignore[no-any-return]


def _integer(text: str) -> int | float:
    """An integer; one beyond 64 bits as float, as orjson has it."""
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
