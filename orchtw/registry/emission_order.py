"""Insertion of keys at their place in the emission order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def put(obj: dict[str, Any], key: str, value: Any, tail: Sequence[str]) -> None:
    """Set `obj[key]` at its place.

    `tail` holds, in emission order, all keys that may come after `key`; it may begin with `key` or earlier.
    """
    obj[key] = value
    behind = key not in tail
    for name in tail:
        if behind and name in obj:
            obj[name] = obj.pop(name)
        elif name == key:
            behind = True
