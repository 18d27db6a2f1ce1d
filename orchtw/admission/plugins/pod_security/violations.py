"""Violations of controls, and the texts that all controls share (reference PLUG-37)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import attrs

from orchtw.values.causes import MAX_SHOWN_CHARACTERS

MOST_SHOWN: Final = 256
"""Of the names in a list: pods have fewer containers and volumes, and what has more need not be told in full."""

_CUT: Final = "..."


@attrs.frozen(slots=True)
class Violation:
    """Why a control refuses a pod, in a word or two, and which parts of it."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


Violations = Sequence[Violation]


def plural(one: str, many: str, count: int) -> str:
    """The word for so many."""
    return one if count == 1 else many


def quoted(names: Collection[str]) -> str:
    """Join quoted names: `"a", "b"`."""
    return listed([f'"{cut(name)}"' for name in names])


def listed(texts: Sequence[str]) -> str:
    """`a, b`; of very many the first."""
    shown = ", ".join(texts[:MOST_SHOWN])
    return shown if len(texts) <= MOST_SHOWN else f"{shown}, {_CUT}"


def cut(text: str) -> str:
    """`text`, or the beginning of a long one."""
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + _CUT


def containers(names: Sequence[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{plural('container', 'containers', len(names))} {quoted(names)}"


def setters(pod: bool, names: Sequence[str]) -> str:
    """Name what sets a forbidden value: `pod`, `container "a"`, or `pod and containers "a", "b"`."""
    if not names:
        return "pod"
    return f"pod and {containers(names)}" if pod else containers(names)
