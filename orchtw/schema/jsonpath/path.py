"""A compiled path: what of an object stands in a column (reference CRD-60)."""

from __future__ import annotations

from typing import Any

from orchtw.schema.jsonpath.parser import parse
from orchtw.schema.jsonpath.steps import MISSING, PathError, StepBudget, follow


class Path:
    """A JSONPath that has been read. Raises PathError where it cannot be."""

    __slots__ = ("_keys", "_steps")

    def __init__(self, text: str) -> None:
        self._steps, self._keys = parse(text)

    def first(self, obj: Any, budget: StepBudget) -> Any:
        """The first value that the path leads to, or MISSING: there is none, it makes no sense, or costs too much."""
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
