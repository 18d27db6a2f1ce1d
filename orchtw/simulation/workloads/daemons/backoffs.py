"""Growing delays between the replacements of failed pods."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

FIRST_S: Final = 1.0
LIMIT_S: Final = 900.0
REMEMBERED: Final = 20_000


class FailureBackoffs:
    """Delays by key, in simulated seconds; one is forgotten after twice the limit."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def left_s(self, key: str, now: float) -> float:
        """Return the seconds for which to wait; 0: there is no need to, and the next delay is longer."""
        delay_s, since = self._known.get(key, (0.0, now))
        if delay_s and now - since < delay_s:
            return since + delay_s - now
        expired = not delay_s or now - since > 2 * LIMIT_S
        self._known.pop(key, None)
        self._known[key] = (FIRST_S if expired else min(LIMIT_S, delay_s * 2)), now
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return 0.0
