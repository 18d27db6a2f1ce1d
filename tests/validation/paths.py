"""Values by their path in an object: `spec.containers[0].name`, `metadata.annotations[example.com/a]`."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from orchtw.wire.objects import Object

GONE: Any = type("Gone", (), {"__repr__": lambda self: "GONE"})()
"""In place of a value: there is none."""

_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def steps(path: str) -> list[str | int]:
    """Keys and indexes on the way to a value."""
    found: list[str | int] = []
    for inside, name in _STEP.findall(path):
        found.append(int(inside) if inside.isdecimal() else inside or name)
    return found


def changed(obj: Object, changes: Mapping[str, Any]) -> Object:
    """A copy of `obj` with other values at some paths; what is missing on the way is made, lists are extended."""
    made = copy.deepcopy(obj)
    for path, value in changes.items():
        *way, last = steps(path)
        inner: Any = made
        for step, following in zip(way, [*way, last][1:], strict=True):
            inner = _entered(inner, step, [] if isinstance(following, int) else {})
        if value is GONE:
            inner.pop(last, None) if isinstance(inner, dict) else inner.pop(last)
        elif isinstance(last, int) and last == len(inner):
            inner.append(copy.deepcopy(value))
        else:
            inner[last] = copy.deepcopy(value)
    return made


def _entered(inner: Any, step: str | int, empty: Any) -> Any:
    if isinstance(step, int):
        if step == len(inner):
            inner.append(empty)
        return inner[step]
    return inner.setdefault(step, empty)


def value_at(obj: Any, path: str) -> Any:
    """The value at a path, or GONE."""
    for step in steps(path):
        try:
            obj = obj[step]
        except (KeyError, IndexError, TypeError):
            return GONE
    return obj


def fits(pattern: str, path: str) -> bool:
    """Report whether a path matches an entry's: `[*]`, `[k]`, `<source>` and `a|b` stand for several."""
    expression = ""
    for part in re.split(r"(\[[^\]]*\]|<[^>]*>|\.\*\*\.|\.)", pattern):
        if part.startswith("["):
            expression += r"\[[^\]]*\]" if part in ("[*]", "[k]", "[i]", "[j]", "[0]", "[1]") else re.escape(part)
        elif part.startswith("<"):
            expression += r"[\w.]+"
        elif part == ".**.":
            expression += r"\..*\.?"
        elif part == ".":
            expression += r"\."
        else:
            expression += "(" + "|".join(map(re.escape, part.split("|"))) + ")"
    return re.fullmatch(expression, path) is not None
