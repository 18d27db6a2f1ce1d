"""Counting of a rule's matches: a deterministic sequence of those that are struck."""

from __future__ import annotations

from random import Random

from orchtw.faults.rule import FaultRule


class FaultCount:
    """Count of one rule: requests that it `matched` and those that it has `struck`.

    A chosen request counts towards the rule's `times` at once, and is given back if the fault never came about, such
    as a cut of a watch that its client ended first.
    """

    def __init__(self, rule: FaultRule) -> None:
        self.matched = 0
        self.struck = 0
        self._rule = rule
        self._chosen = 0
        self._spared = 0
        self._random = Random(rule.seed)

    @property
    def exhausted(self) -> bool:
        """Report whether the rule has struck as often as it may."""
        return bool(self._rule.times) and self.struck >= self._rule.times

    def choose(self) -> bool:
        """Count a match; report whether the fault is to strike it."""
        rule = self._rule
        self.matched += 1
        if self.matched <= rule.after:
            return False
        # Every match draws, so that the sequence depends on the number of matches alone.
        drawn = rule.probability >= 1 or self._random.random() < rule.probability
        if self._spared:
            self._spared -= 1
            return False
        if not drawn or (rule.times and self.struck + self._chosen >= rule.times):
            return False
        self._chosen += 1
        self._spared = rule.gap
        return True

    def strike(self) -> None:
        """Count a chosen request as struck."""
        self._chosen -= 1
        self.struck += 1

    def give_back(self) -> None:
        """Count a chosen request as not struck."""
        self._chosen -= 1
