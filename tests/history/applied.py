"""Changes made on JSON values, by the text of their paths alone, to compare the outcome."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from orchtw.wire.objects import Object

_FIELD = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\"(?:[^\"\\]|\\.)*\")\]")
_INDEX = re.compile(r"\[(\d+)\]")
_ITEM = re.compile(r"\[((?:[^\"\]]|\"(?:[^\"\\]|\\.)*\")*)\]")
_KEY = re.compile(r"(\w*)=(\"(?:[^\"\\]|\\.)*\"|[^,\"]+)(?:,|$)")


def applied(value: Any, changes: list[Object]) -> Any:
    """Return a copy of a JSON value with changes as records show them, one after the other."""
    holder = {"$": copy.deepcopy(value)}
    for change in changes:
        path, place, where = change["path"], holder, "$"
        assert path.startswith("$"), path
        path = path[1:]
        while path:
            place, (where, path) = place[where], _step(place[where], path)
        if change["op"] == "remove":
            del place[where]
        elif change["op"] == "add" and isinstance(place, list):
            place.insert(where, copy.deepcopy(change["new"]))
        else:
            place[where] = copy.deepcopy(change["new"])
    return holder["$"]


def _step(value: Any, path: str) -> tuple[Any, str]:
    """Return the key or index of a path's first step in a value, and the rest of the path."""
    if isinstance(value, dict):
        found = _FIELD.match(path)
        assert found is not None, path
        return found[1] or json.loads(found[2]), path[found.end() :]
    if found := _INDEX.match(path):
        return int(found[1]), path[found.end() :]
    found = _ITEM.match(path)
    assert found is not None, path
    wanted = {name: json.loads(text) for name, text in _KEY.findall(found[1])}
    places = [at for at, item in enumerate(value) if _is_item(item, wanted)]
    return (places[0] if places else len(value)), path[found.end() :]


def _is_item(item: Any, wanted: dict[str, Any]) -> bool:
    if "" in wanted:
        return bool(item == wanted[""])
    return all(item.get(name) == value for name, value in wanted.items())
