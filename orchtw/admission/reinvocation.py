"""State of the first mutating round that the second one needs (reference HOOK-18, POLICY-13)."""

from __future__ import annotations

import msgspec

from orchtw.admission.attributes import Attributes
from orchtw.wire.objects import Object


class Rounds(msgspec.Struct):
    """State of mutating policies and webhooks between the rounds.

    `before` has the keys of those with reinvocationPolicy IfNeeded that were called since the last change, `again`
    those that a later change concerns. `left` is the object as they left it.
    """

    before: set[str] = msgspec.field(default_factory=set)
    again: set[str] = msgspec.field(default_factory=set)
    left: Object | None = None

    @classmethod
    def of(cls, attributes: Attributes) -> Rounds:
        """Return the state of a write; a change by another plugin since the last call is taken note of."""
        found: Rounds | None = attributes.carried
        if found is None:
            found = attributes.carried = cls()
        if attributes.round and attributes.obj is not found.left and attributes.obj != found.left:
            found.changed()
        return found

    def changed(self) -> None:
        """Note that the object has changed since the calls in `before`."""
        self.again |= self.before
        self.before.clear()
