"""The most and the least that a number has been."""

from __future__ import annotations


class Marks:
    """Told of each value of a number that begins with 0."""

    __slots__ = ("high", "low")

    def __init__(self) -> None:
        self.high = self.low = 0

    def see(self, value: int) -> None:
        """The number has this value now."""
        if value > self.high:
            self.high = value
        elif value < self.low:
            self.low = value

    def anew(self, value: int) -> tuple[int, int]:
        """The most and the least until now; from now on those from `value` on, which is the number at present."""
        found = self.high, self.low
        self.high = self.low = value
        return found
