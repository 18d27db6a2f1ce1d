"""Violations of controls, and the texts that all controls share (reference PLUG-37)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from orchtw.values.causes import MAX_SHOWN_CHARACTERS

MOST_SHOWN: Final = 256
"""Limit of names listed for one violation: ordinary pods have fewer containers and volumes."""

_CUT: Final = "..."


class Violation(msgspec.Struct, frozen=True):
    """Violation of a control: the reason in a few words, and the parts of the pod with their values."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


Violations = Sequence[Violation]


def plural(one: str, many: str, count: int) -> str:
    """Return the singular or the plural for a count."""
    return one if count == 1 else many


def quoted(names: Collection[str]) -> str:
    """Join quoted names: `"a", "b"`."""
    return listed([f'"{cut(name)}"' for name in names])


def listed(texts: Sequence[str]) -> str:
    """Join texts as `a, b`, up to MOST_SHOWN of them."""
    shown = ", ".join(texts[:MOST_SHOWN])
    return shown if len(texts) <= MOST_SHOWN else f"{shown}, {_CUT}"


def cut(text: str) -> str:
    """Cut a text to MAX_SHOWN_CHARACTERS."""
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + _CUT


def containers(names: Sequence[str]) -> str:
    """Name containers: `container "a"`, `containers "a", "b"`."""
    return f"{plural('container', 'containers', len(names))} {quoted(names)}"


def setters(pod: bool, names: Sequence[str]) -> str:
    """Name what sets a forbidden value: `pod`, `container "a"`, or `pod and containers "a", "b"`."""
    if not names:
        return "pod"
    return f"pod and {containers(names)}" if pod else containers(names)
