"""Comparison of an object with an earlier one, part by part, by their JSON texts.

Unlike `==`, the text tells 1 from true and from 1.0, and one order of keys from another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson


def same_text(before: Any, after: Any) -> bool:
    """Report whether two JSON values have the same text. Values that cannot be written are not the same."""
    kind = type(before)
    if kind is not type(after):
        return False
    if kind is not dict and kind is not list:
        return kind is not float and bool(before == after)
    try:
        return orjson.dumps(before) == orjson.dumps(after)
    except orjson.JSONEncodeError:  # deeper than it writes, or a number too large for it
        return False


def unchanged_parts(value: Mapping[str, Any], live: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of `live` under `keys` that `value` has too, or objects and lists with the same text.

    Metadata is compared part by part, by itself: it is half of an object's text, and hardly ever the same.
    """
    return {
        key: live[key]
        for key, part in value.items()
        if key in live and key in keys and _is_unchanged(key, live[key], part)
    }


def _is_unchanged(key: str, before: Any, after: Any) -> bool:
    if before is after:
        return True
    return (type(after) is dict or type(after) is list) and key != "metadata" and same_text(before, after)


def in_order(parts: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Return `parts` in the order of `keys`, which names all of them."""
    return {key: parts[key] for key in keys if key in parts}
