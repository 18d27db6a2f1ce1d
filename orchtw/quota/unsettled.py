"""Quota charges of this process's writes in flight, whose objects cannot be counted yet."""

from __future__ import annotations

from orchtw.quota.amounts import NOTHING, Amount, Amounts

Place = tuple[str, str]
"""Namespace and name of a quota."""


class Unsettled:
    """Sums of unsettled charges by quota. Each `add` must be followed by one `end` with the same arguments."""

    def __init__(self) -> None:
        self._sums: dict[Place, dict[str, int]] = {}
        self._pending: dict[Place, int] = {}

    def add(self, place: Place, charge: Amounts) -> None:
        """Add the charge of a write."""
        self._change(place, charge, 1)

    def end(self, place: Place, charge: Amounts) -> None:
        """Remove the charge of a write that has ended: its object, if stored, can now be counted."""
        self._change(place, charge, -1)

    def of(self, place: Place) -> Amounts:
        """Return the amounts currently charged to a quota for writes in flight."""
        sums = self._sums.get(place)
        return {name: Amount(nanos, "decimal") for name, nanos in sums.items() if nanos} if sums else NOTHING

    def _change(self, place: Place, charge: Amounts, sign: int) -> None:
        pending = self._pending[place] = self._pending.get(place, 0) + sign
        sums = self._sums.setdefault(place, {})
        for name, each in charge.items():
            sums[name] = sums.get(name, 0) + sign * each.nanos
        if not pending:
            del self._pending[place], self._sums[place]
