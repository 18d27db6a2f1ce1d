"""Failed assertions about the server's objects, and the texts that explain them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchtw.testing.control.records import RecordedWrite, writes_text

MOST_LINES = 60
"""Lines of an object in a text."""

MOST_LINE = 160
"""Characters of a line of an object in a text."""


class ConditionNotMet(AssertionError):
    """Failure of `eventually`. `seen` is the last object, or None; `writes` are the last ones to it."""

    def __init__(self, text: str, seen: Mapping[str, Any] | None, writes: Sequence[RecordedWrite]) -> None:
        super().__init__(text)
        self.seen = seen
        self.writes = writes


class NotQuiet(AssertionError):
    """Failure of `quiet`. `writes` are those that should not have been."""

    def __init__(self, text: str, writes: Sequence[RecordedWrite]) -> None:
        super().__init__(f"{text}\n{writes_text(writes)}")
        self.writes = writes


def object_text(obj: Mapping[str, Any]) -> str:
    """Return an object as YAML without its managed fields, abbreviated."""
    import yaml  # only failures need it

    metadata = {name: value for name, value in obj.get("metadata", {}).items() if name != "managedFields"}
    text: str = yaml.safe_dump({**obj, "metadata": metadata}, sort_keys=False, allow_unicode=True, width=MOST_LINE)
    lines = [line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]}…" for line in text.splitlines()]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"… and {len(lines) - MOST_LINES} more lines"]
    return "\n".join(lines)


def indented(text: str) -> str:
    """Return a text with each line two characters further right."""
    return "\n".join(f"  {line}" for line in text.splitlines())
