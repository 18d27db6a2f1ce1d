"""One audit event as its JSON (reference AUDIT-1), which is made once for all backends."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import attrs
import orjson

from orchtw.audit.policy import LEVELS, REQUEST
from orchtw.values.times import time_text
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

TRUNCATED: Final = "truncated"
"""The annotation, in the API group of audit, of an event that has lost its objects."""

_OBJECTS: Final = ("requestObject", "responseObject")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


@attrs.define(slots=True, eq=False)
class Event:
    """The members of an Event but kind and apiVersion, as JSON on one line; `level` is what it may hold."""

    json: bytes
    level: int

    @classmethod
    def of(cls, members: Object) -> Event:
        """An event of members in the order in which they are shown; objects in it may be `orjson.Fragment`s."""
        return cls(text(members), LEVELS.index(members["level"]))

    @property
    def members(self) -> Object:
        """The same as an object."""
        found: Object = loads(self.json)
        return found

    @property
    def has_objects(self) -> bool:
        """Report whether the level includes objects."""
        return self.level >= REQUEST

    def without_objects(self, group: str) -> Event:
        """The same without what the request and the answer held, which an annotation of API group `group` says."""
        members = self.members
        kept = {name: value for name, value in members.items() if name not in _OBJECTS}
        kept["annotations"] = {**kept.get("annotations", {}), f"{group}/{TRUNCATED}": "true"}
        return Event(text(kept), self.level)


def json_lines(api_version: str) -> Callable[[Event], bytes]:
    """Return an encoder of events, with their kind, as lines of a log."""
    head = orjson.dumps({"kind": "Event", "apiVersion": api_version})[:-1]
    head += b","
    return lambda event: head + event.json[1:] + b"\n"


def stamp(seconds: float) -> str:
    """A time since the epoch with six fractional digits."""
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1e6):06d}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    return (time_text(seconds) or "")[:-1]


def text(value: Any) -> bytes:
    """A value as JSON; what is no UTF-8 in it is replaced."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_plain(value))


def shown(value: Any) -> str:
    """The same as a text: texts are joined, and encoded once, in a third of the time that bytes take."""
    return text(value).decode()


def _plain(value: Any) -> Any:
    """The same value where texts are UTF-8: half characters, which JSON bodies can hold, are replaced."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
