"""Completion indexes: lists of them as the status shows them, and the index of a pod."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from orchtw.wire.objects import Object

INDEX: Final = "batch.orch.io/job-completion-index"
"""Annotation, and label, of a pod with its completion index."""


def parse_indexes(text: str | None) -> set[int]:
    """Return the indexes of a list such as `1,3-5,7`; parts other than numbers are left out."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return found


def indexes_text(indexes: Iterable[int]) -> str:
    """Return a list of indexes, three or more in a row as a range."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run_text(first, last) for first, last in runs)


def _run_text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"


def index_of(pod: Object, annotation: str) -> int | None:
    """Return the completion index of a pod; None if it has none."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isdecimal() and len(text) <= 10 else None
