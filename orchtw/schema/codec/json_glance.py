"""Reading of an object's JSON the little that a cache needs of it at once, mostly without parsing the rest.

What is read is what parsing all of it would give, also of texts that this server never writes: most of those are not
read here at all.
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
"""How the JSON of an object in the store begins, after kind and apiVersion: up to its empty resourceVersion."""

_OWNERS: Final = b',"managedFields":['
_END: Final = b']},"'
"""The end of the managedFields, of the metadata, and the next key."""

NO_LABELS: Final[Mapping[str, str]] = {}


def glance(tail: bytes, version: bytes) -> tuple[Mapping[str, str], bytes] | None:
    """The labels of an object, and its JSON with that resourceVersion in place of an empty one.

    `tail` is its JSON after kind and apiVersion. None: it is not quite what this server writes, and has to be decoded
    (which may show that it cannot be). What follows the metadata may be no JSON.
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
    """Where the metadata ends whose managedFields start there; 0: that cannot be told without parsing them.

    The first bracket that closes is the one that is looked for if none has been opened, and as many quotes stand
    before it as end strings and begin them.
    """
    close = tail.find(b"]", start)
    if close < 0 or not tail.startswith(_END, close) or tail.find(b"[", start, close) >= 0:
        return 0
    if tail.find(b"\\", start, close) >= 0 and tail.find(b"\\\\", start, close) >= 0:
        return 0
    quotes = tail.count(b'"', start, close) - tail.count(b'\\"', start, close)
    return 0 if quotes % 2 else close + 2


def _labels(tail: bytes, cut: int, end: int) -> dict[str, Any] | None:
    """The labels of the metadata that ends at `end`, if the managedFields are its last member, from `cut` on.

    Those of another object, or of metadata that other metadata may take the place of, are not. Raises ValueError.
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
    """Report whether a part of a text may hold a key, however it is written."""
    if tail.find(key, start, end) >= 0:
        return True
    return tail.find(b"\\", start, end) >= 0 and tail.find(b"\\u", start, end) >= 0  # one byte is found much faster
