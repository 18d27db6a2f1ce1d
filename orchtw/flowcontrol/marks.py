"""Highest and lowest values of a number."""

from __future__ import annotations


class Marks:
    """Marks of a number that starts at 0, updated with each of its values."""

    __slots__ = ("high", "low")

    def __init__(self) -> None:
        self.high = self.low = 0

    def see(self, value: int) -> None:
        """Note the number's present value."""
        if value > self.high:
            self.high = value
        elif value < self.low:
            self.low = value

    def anew(self, value: int) -> tuple[int, int]:
        """Return the highest and lowest values so far, and restart from the present `value`."""
        found = self.high, self.low
        self.high = self.low = value
        return found
