"""Errors of expressions: before they run, and while they do."""

from __future__ import annotations

from typing import Final

_SHOWN_CHARACTERS: Final = 512


class Fault(Exception):
    """An expression that cannot be compiled. `at`: the character it is about."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why = why
        self.at = at

    def shown(self, source: str) -> str:
        """Return the fault with its line and place, as users of the language know it."""
        before = source[: self.at]
        line, column = before.count("\n") + 1, self.at - (before.rfind("\n") + 1)
        text = f"ERROR: <input>:{line}:{column + 1}: {self.why}"
        snippet = source.split("\n")[line - 1].replace("\t", " ")
        if len(snippet) > _SHOWN_CHARACTERS:
            return text
        return f"{text}\n | {snippet}\n | {'.' * column}^"


class Failure(Exception):
    """An expression has no value, because of the values that went into it."""


class CostExceeded(Exception):
    """An expression takes more work than it may."""


def no_overload() -> Failure:
    """Return the failure of a function or operator that is called with values it does not take."""
    return Failure("no such overload")
