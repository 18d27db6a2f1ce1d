"""The order of admission: every mutating plugin, then (after validation) every validating one (seed 3 §1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from orchtw.request import UserInfo
from orchtw.schema.catalogue import ResourceType


@attrs.define(slots=True, kw_only=True, eq=False)
class Attributes:
    """What a plugin may look at: one write of one object.

    `operation` is CREATE, UPDATE or DELETE. `obj` (None on DELETE) may be changed in place by mutating
    plugins; `old` (None on CREATE) may not.
    """

    operation: str
    resource: ResourceType
    namespace: str
    name: str
    user: UserInfo
    subresource: str = ""
    obj: dict[str, Any] | None = None
    old: dict[str, Any] | None = None
    dry_run: bool = False


class Plugin(Protocol):
    """One admission plugin; both methods refuse by raising a StatusError."""

    async def admit(self, attributes: Attributes) -> None:
        """Change the object, or refuse early."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the finished object."""


class Chain:
    """The plugins in their order."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._plugins = tuple(plugins)

    async def admit(self, attributes: Attributes) -> None:
        """Run the mutating half; the first refusal ends the request."""
        for plugin in self._plugins:
            await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run the validating half; the first refusal ends the request."""
        for plugin in self._plugins:
            await plugin.validate(attributes)
