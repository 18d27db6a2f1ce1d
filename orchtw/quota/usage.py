"""Quota usage of one object, and the interface of evaluators."""

from __future__ import annotations

from typing import Protocol

import msgspec

from orchtw.quota.amounts import Amount, Amounts
from orchtw.quota.scopes import ClaimTraits, Traits
from orchtw.wire.objects import Object

Items = frozenset[tuple[str, Amount]]


class Usage(msgspec.Struct, frozen=True, cache_hash=True):
    """Quota usage of an object.

    `over` is the usage after `until`, in seconds since the epoch (None: it never changes). `traits` are those of a
    pod or claim, None for other kinds.
    """

    items: Items
    traits: Traits | ClaimTraits | None = None
    until: float | None = None
    over: Items = frozenset()

    @classmethod
    def of(cls, used: Amounts, traits: Traits | ClaimTraits | None = None) -> Usage:
        """Return the usage of an object whose usage never changes."""
        return cls(frozenset(used.items()), traits)

    def amounts(self, now: float) -> Amounts:
        """Return the usage at `now`, in seconds since the epoch."""
        is_over = self.until is not None and now > self.until
        return dict(self.over if is_over else self.items)


class Evaluator(Protocol):
    """Interface of the evaluators, which compute the quota usage of objects of one kind."""

    @property
    def grows(self) -> bool:
        """Report whether updates may increase the usage, so that they are charged too."""

    @property
    def fixed(self) -> Usage | None:
        """Return the usage of every object if all use the same, else None."""

    @property
    def names(self) -> frozenset[str]:
        """Return the quota entries that objects of the kind may use; a single object may use further entries."""

    def counts(self, name: str) -> bool:
        """Report whether objects of the kind count towards a quota's entry."""

    def usage(self, obj: Object) -> Usage:
        """Return the usage of an object in the stored version."""

    def missing(self, obj: Object) -> set[str]:
        """Return the entries that the object must set if a quota limits them, but does not."""


def count_name(group: str, plural: str) -> str:
    """Return the quota entry for the object count of a resource."""
    return f"count/{plural}.{group}" if group else f"count/{plural}"
