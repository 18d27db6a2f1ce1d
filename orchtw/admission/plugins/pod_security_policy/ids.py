"""Strategies for users and groups: the ids that a policy allows, and its defaults (reference PLUG-105)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.errors import Cause
from orchtw.wire.objects import Object

MUST: Final = "MustRunAs"
MAY: Final = "MayRunAs"
NOT_ROOT: Final = "MustRunAsNonRoot"
ANY: Final = "RunAsAny"


class Ids(msgspec.Struct, frozen=True):
    """Strategy for ids: a rule and its ranges."""

    rule: str = ANY
    ranges: tuple[tuple[int, int], ...] = ()

    @property
    def usable(self) -> bool:
        """Report whether any id satisfies the rule."""
        return bool(self.ranges) or self.rule not in (MUST, MAY)

    @property
    def default(self) -> int | None:
        """Return the default id, or None."""
        return self.ranges[0][0] if self.rule == MUST else None

    def allow(self, number: int) -> bool:
        """Report whether `number` is in one of the ranges."""
        return any(low <= number <= high for low, high in self.ranges)

    @property
    def shown(self) -> str:
        """Format the ranges as refusals show them."""
        return f"[{' '.join(f'{{{low} {high}}}' for low, high in self.ranges)}]"


def ids(options: Object | None) -> Ids:
    """Parse a strategy of a policy; a missing one allows everything."""
    if options is None:
        return Ids()
    ranges = tuple((each.get("min", 0), each.get("max", 0)) for each in options.get("ranges") or ())
    return Ids(options.get("rule", ANY), ranges)


def group_causes(field: str, rule: Ids, groups: Sequence[int] | None) -> list[Cause]:
    """Return the causes that reject the groups at `field`; `groups` is None if it is unset."""
    if rule.rule not in (MUST, MAY):
        return []
    shown = "[]int64(nil)" if groups is None else f"[]int64{{{', '.join(map(str, groups))}}}"
    causes = []
    if rule.rule == MUST and not groups:
        causes.append(wrong(field, shown, "unable to validate empty groups against required ranges"))
    bad = [group for group in groups or () if not rule.allow(group)]
    return causes + [wrong(field, shown, f"group {group} must be in the ranges: {rule.shown}") for group in bad]


def wrong(field: str, shown: str, detail: str) -> Cause:
    """Return the cause of an invalid value that is shown as `shown`, without quotes."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {detail}", field)
