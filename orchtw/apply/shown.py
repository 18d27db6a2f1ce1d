"""JSON values as the errors of patches quote them."""

from __future__ import annotations

from typing import Any

_MOST_CHARACTERS = 4_000  # of one quoted value: enough to find the place, too little to flood a log


def cut(text: str) -> str:
    """`text`, or its beginning where it is long."""
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "..."


def go_plain(value: Any) -> str:
    """`map[image:x ports:[1 2]]`: as Go's `%v` shows the value, cut off where it gets long."""
    return cut(_plain(value))


def _plain(value: Any) -> str:
    if type(value) is dict:
        return "map[" + " ".join(f"{key}:{_plain(value[key])}" for key in sorted(value)) + "]"
    if type(value) is list:
        return "[" + " ".join(map(_plain, value)) + "]"
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    return str(value)
