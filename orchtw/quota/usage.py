"""Quota usage of one object, and the evaluators of each kind."""

from __future__ import annotations

from typing import Protocol

import attrs

from orchtw.quota.amounts import Amount, Amounts
from orchtw.quota.scopes import Traits
from orchtw.wire.objects import Object

Items = frozenset[tuple[str, Amount]]


@attrs.frozen(slots=True, cache_hash=True)
class Usage:
    """Quota usage of an object; equal usages are shared.

    `over` is the usage after the time `until`, in seconds since the epoch; None if it never changes. `pod` has the
    traits of a pod, None for other kinds.
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
        """Return the usage at a time."""
        is_over = self.until is not None and now > self.until
        return dict(self.over if is_over else self.items)


class Evaluator(Protocol):
    """Knows what the objects of one kind use."""

    @property
    def grows(self) -> bool:
        """Report whether an update may raise the usage, so that updates are charged too."""

    @property
    def fixed(self) -> Usage | None:
        """The usage of every object, where all use the same."""

    @property
    def names(self) -> frozenset[str]:
        """The entries of quotas that any object may use of; some use of others besides, by names of their own."""

    def counts(self, name: str) -> bool:
        """Report whether objects of the kind count towards a quota's entry."""

    def usage(self, obj: Object) -> Usage:
        """Return the usage of an object in the stored version."""

    def missing(self, obj: Object) -> set[str]:
        """Return the names of limited amounts that the object leaves out."""


def count_name(group: str, plural: str) -> str:
    """Return the quota name of a resource's object count."""
    return f"count/{plural}.{group}" if group else f"count/{plural}"
