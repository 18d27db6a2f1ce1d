"""A compiled path: the value of an object for a column (reference CRD-60)."""

from __future__ import annotations

from typing import Any

from orchtw.schema.jsonpath.parser import parse
from orchtw.schema.jsonpath.steps import MISSING, PathError, StepBudget, follow


class Path:
    """A parsed JSONPath. Raises PathError for an invalid one."""

    __slots__ = ("_keys", "_steps")

    def __init__(self, text: str) -> None:
        self._steps, self._keys = parse(text)

    def first(self, obj: Any, budget: StepBudget) -> Any:
        """Return the first value that the path selects, or MISSING: there is none, or it fails, or costs too much."""
        if self._keys is not None:
            for key in self._keys:
                if type(obj) is not dict:
                    return MISSING
                obj = obj.get(key, MISSING)
            return obj
        try:
            found = follow(self._steps, [obj], budget)
        except PathError:
            return MISSING
        return found[0] if found else MISSING
