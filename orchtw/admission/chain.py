"""The order of admission: every mutating plugin, then (after validation) every validating one (reference ADM-2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, runtime_checkable

import attrs

from orchtw.admission.attributes import Attributes, Operation
from orchtw.schema.catalogue import ResourceType

Step = Callable[[Attributes], Awaitable[None]]


class Plugin(Protocol):
    """What every plugin has, beside `admit` or `validate` or both."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Whether such writes concern the plugin; it sees no others.

        The answer is kept: it may depend on group, plural and scope of the resource, not on its version or on time.
        """


@runtime_checkable
class Mutating(Plugin, Protocol):
    """A plugin that takes part in the mutating pass."""

    async def admit(self, attributes: Attributes) -> None:
        """Change the object, or refuse it by raising a StatusError."""


@runtime_checkable
class Validating(Plugin, Protocol):
    """A plugin that takes part in the validating pass."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the finished object by raising a StatusError."""


@attrs.frozen(slots=True)
class Plan:
    """Whom a kind of write concerns: the steps of both passes, and whether there are none."""

    mutating: tuple[Step, ...] = ()
    validating: tuple[Step, ...] = ()
    empty: bool = attrs.field(init=False)

    @empty.default
    def _empty(self) -> bool:
        return not (self.mutating or self.validating)


NOBODY = Plan()
"""The plan of a write that no plugin is to see."""

MAX_PLANS: Final = 10_000
"""That are kept: some for each resource."""


class Chain:
    """The plugins in their order."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._plugins = tuple(plugins)
        self._plans: dict[tuple[str, str, bool, str], Plan] = {}

    def plan(self, operation: Operation, resource: ResourceType, subresource: str = "") -> Plan:
        """Whom such a write concerns."""
        key = (operation, resource.qualified, resource.namespaced, subresource)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MAX_PLANS:  # definitions come and go
                self._plans.clear()
            found = self._plans[key] = self._planned(operation, resource, subresource)
        return found

    def _planned(self, operation: Operation, resource: ResourceType, subresource: str) -> Plan:
        concerned = [plugin for plugin in self._plugins if plugin.handles(operation, resource, subresource)]
        return Plan(
            tuple(plugin.admit for plugin in concerned if isinstance(plugin, Mutating)),
            tuple(plugin.validate for plugin in concerned if isinstance(plugin, Validating)),
        )
