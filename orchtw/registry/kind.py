"""Record of a kind: all its special rules in one value."""

from __future__ import annotations

import attrs

from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import Traits
from orchtw.schema.kinds import GroupKind


@attrs.frozen(slots=True, kw_only=True)
class KindRecord(Traits):
    """Traits of a stored kind, by name, and the class of its strategy."""

    group: str
    kind: str
    strategy: type[Strategy] = Strategy

    @property
    def group_kind(self) -> GroupKind:
        """Return the key under which the kind is registered."""
        return GroupKind(self.group, self.kind)
