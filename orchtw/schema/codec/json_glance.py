"""Extraction of the few parts of an object's JSON that a cache needs at once, mostly without parsing the rest.

The result is that of parsing everything, also for texts that this server never writes: most of those are left to the
parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from orchtw.schema.codec.json_text import load_json

_STRING: Final = rb'"(?:[^"\\]|\\.)*"'
_BEFORE: Final = (b"name", b"generateName", b"namespace", b"uid")
_NAMES: Final = b"".join(rb'(?:"%b":%b,)?' % (name, _STRING) for name in _BEFORE)
_VERSIONED: Final = re.compile(rb'"metadata":\{%b"resourceVersion":""(?=[,}])' % _NAMES)
"""Pattern of a stored object's JSON after kind and apiVersion, up to its empty resourceVersion."""

_OWNERS: Final = b',"managedFields":['
_END: Final = b']},"'
"""End of the managedFields and of the metadata, and the start of the next key."""

NO_LABELS: Final[Mapping[str, str]] = {}


def glance(tail: bytes, version: bytes) -> tuple[Mapping[str, str], bytes] | None:
    """Return the labels of an object, and its JSON with `version` in place of an empty resourceVersion.

    `tail` is its JSON after kind and apiVersion. None: it is not quite as this server writes it, and has to be
    decoded (which may fail). The text after the metadata may be invalid JSON.
    """
    match = _VERSIONED.match(tail)
    if match is None:
        return None
    place, cut = match.end(), tail.find(_OWNERS)
    end = 0 if cut < 0 else _end(tail, cut + len(_OWNERS))
    if not end or _has(tail, b'"resourceVersion"', place, cut):
        return None
    try:
        labels = _labels(tail, cut, end)
    except ValueError:
        return None
    if labels is None or any(type(value) is not str for value in labels.values()):
        return None
    return labels, b"%b%b%b" % (tail[: place - 1], version, tail[place - 1 :])


def _end(tail: bytes, start: int) -> int:
    """Return where the metadata ends whose managedFields start there; 0: not known without parsing them.

    The first closing bracket ends the list if none was opened before it and the number of quotes before it is even.
    """
    close = tail.find(b"]", start)
    if close < 0 or not tail.startswith(_END, close) or tail.find(b"[", start, close) >= 0:
        return 0
    if tail.find(b"\\", start, close) >= 0 and tail.find(b"\\\\", start, close) >= 0:
        return 0
    quotes = tail.count(b'"', start, close) - tail.count(b'\\"', start, close)
    return 0 if quotes % 2 else close + 2


def _labels(tail: bytes, cut: int, end: int) -> dict[str, Any] | None:
    """Return the labels of the metadata that ends at `end`; its last member, the managedFields, begins at `cut`.

    None if another key precedes the metadata, or a repeated key may replace it. Raises ValueError.
    """
    head = load_json(b"{%b}}" % tail[:cut])
    meta = head["metadata"]
    if len(head) > 1 or type(meta) is not dict:
        return None
    if _has(tail, b'"metadata"', end, len(tail)) and not _is_written(b"{" + tail):
        return None
    labels = meta.get("labels", NO_LABELS)
    return labels if type(labels) is dict else None


def _is_written(text: bytes) -> bool:
    """Report whether a text is as this server writes it, without repeated keys. Raises ValueError for bad JSON."""
    return orjson.dumps(load_json(text)) == text


def _has(tail: bytes, key: bytes, start: int, end: int) -> bool:
    """Report whether a part of a text may hold a key, even one written with escapes."""
    if tail.find(key, start, end) >= 0:
        return True
    return tail.find(b"\\", start, end) >= 0 and tail.find(b"\\u", start, end) >= 0  # one byte is found much faster
