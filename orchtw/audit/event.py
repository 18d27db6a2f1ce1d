"""Audit event as JSON, encoded once for all backends (reference AUDIT-1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec
import orjson

from orchtw.audit.policy import LEVELS, REQUEST
from orchtw.values.times import time_text
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

TRUNCATED: Final = "truncated"
"""Name of the annotation, in the API group of audit, of an event without its objects."""

_OBJECTS: Final = ("requestObject", "responseObject")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class Event(msgspec.Struct, eq=False):
    """Event without kind and apiVersion, as JSON on one line; `level` is its index in LEVELS."""

    json: bytes
    level: int

    @classmethod
    def of(cls, members: Object) -> Event:
        """Encode an event with its members in the order given; objects in it may be `orjson.Fragment`s."""
        return cls(text(members), LEVELS.index(members["level"]))

    @property
    def members(self) -> Object:
        """Decode the members of the event."""
        found: Object = loads(self.json)
        return found

    @property
    def has_objects(self) -> bool:
        """Report whether the level includes objects."""
        return self.level >= REQUEST

    def without_objects(self, group: str) -> Event:
        """Return the event without objects, with an annotation of API group `group` that says so."""
        members = self.members
        kept = {name: value for name, value in members.items() if name not in _OBJECTS}
        kept["annotations"] = {**kept.get("annotations", {}), f"{group}/{TRUNCATED}": "true"}
        return Event(text(kept), self.level)


def json_lines(api_version: str) -> Callable[[Event], bytes]:
    """Return an encoder of events as log lines, with kind and apiVersion."""
    head = orjson.dumps({"kind": "Event", "apiVersion": api_version})[:-1]
    head += b","
    return lambda event: head + event.json[1:] + b"\n"


def stamp(seconds: float) -> str:
    """Return a time since the epoch with six fractional digits."""
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1e6):06d}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    return (time_text(seconds) or "")[:-1]


def text(value: Any) -> bytes:
    """Encode a value as JSON; lone surrogates are replaced."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_plain(value))


def shown(value: Any) -> str:
    """Encode a value as `str`: to join strings and encode them once takes a third of the time of joining bytes."""
    return text(value).decode()


def _plain(value: Any) -> Any:
    """Replace lone surrogates, which JSON bodies can hold, in all strings of a value."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
