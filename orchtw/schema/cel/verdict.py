"""Findings about a rule before it runs."""

from __future__ import annotations

import msgspec


class RuleVerdict(msgspec.Struct, frozen=True):
    """Verdict on a rule before it runs.

    `fault`: why it cannot run; empty: it can. `is_transition`: it refers to the old value. `estimate`: its
    steps for the largest values of a request, and `repeats`: how many such values there may be.
    """

    fault: str
    is_transition: bool = False
    estimate: int = 0
    repeats: int = 1
