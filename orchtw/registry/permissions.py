"""Rights that only show once it is known what a write would store."""

from __future__ import annotations

from typing import Protocol

from orchtw.registry.write import Write
from orchtw.wire.objects import Object


class Permissions(Protocol):
    """Asked about the writes of requests; those of the server itself need no leave."""

    async def creating(self, write: Write) -> None:
        """An update or an apply is about to create. Raises Forbidden (403; reference AUTHZ-3)."""

    async def granting(self, write: Write, new: Object, old: Object | None) -> None:
        """`new` is about to be stored, in the place of `old` if that is not None, in the target's version.

        Raises Forbidden (403) and NotFound (404) for rights that the writer may not hand on (reference AUTHZ-20).
        """

    def concerns(self, write: Write) -> bool:
        """Report whether `granting` checks the write."""
