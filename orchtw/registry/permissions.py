"""Permission checks that depend on the object that a write would store."""

from __future__ import annotations

from typing import Protocol

from orchtw.registry.write import Write
from orchtw.wire.objects import Object


class Permissions(Protocol):
    """Permission checks of requests' writes; those of the server itself are exempt."""

    async def creating(self, write: Write) -> None:
        """Check that an update or apply may create. Raises Forbidden (403; reference AUTHZ-3)."""

    async def granting(self, write: Write, new: Object, old: Object | None) -> None:
        """Check the rights that storing `new` grants, in place of `old` if not None, in the target's version.

        Raises Forbidden (403) and NotFound (404) for rights that the writer may not grant (reference AUTHZ-20).
        """

    def concerns(self, write: Write) -> bool:
        """Report whether `granting` checks the write."""
