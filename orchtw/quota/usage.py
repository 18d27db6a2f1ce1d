"""What one object uses, and who knows that of its kind."""

from __future__ import annotations

from typing import Protocol

import attrs

from orchtw.quota.amounts import Amount, Amounts
from orchtw.quota.scopes import Traits
from orchtw.wire.objects import Object

Items = frozenset[tuple[str, Amount]]


@attrs.frozen(slots=True, cache_hash=True)
class Usage:
    """What one object uses; many objects have equal ones.

    `over` is what it uses once the time `until` has passed, in seconds since the epoch; None: it never does. `pod` is
    what scopes ask, None of other kinds.
    """

    items: Items
    pod: Traits | None = None
    until: float | None = None
    over: Items = frozenset()

    @classmethod
    def of(cls, used: Amounts, pod: Traits | None = None) -> Usage:
        """The usage of an object that does not end by itself."""
        return cls(frozenset(used.items()), pod)

    def amounts(self, now: float) -> Amounts:
        """What it uses at a time."""
        is_over = self.until is not None and now > self.until
        return dict(self.over if is_over else self.items)


class Evaluator(Protocol):
    """Knows what the objects of one kind use."""

    @property
    def grows(self) -> bool:
        """Whether an update may make an object use more, so that it is charged too."""

    @property
    def fixed(self) -> Usage | None:
        """The usage of every object, where all use the same."""

    @property
    def names(self) -> frozenset[str]:
        """The entries of quotas that any object may use of; some use of others besides, by names of their own."""

    def counts(self, name: str) -> bool:
        """Whether an object may use of a quota's entry."""

    def usage(self, obj: Object) -> Usage:
        """What an object uses, which is in the stored version."""

    def missing(self, obj: Object) -> set[str]:
        """What an object would have to say where a quota limits it, and does not."""


def count_name(group: str, plural: str) -> str:
    """How quotas name the number of a resource's objects."""
    return f"count/{plural}.{group}" if group else f"count/{plural}"
