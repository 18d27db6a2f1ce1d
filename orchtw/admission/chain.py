"""Admission chain: all mutating plugins, then (after validation of the object) all validating ones (reference ADM-2).

A mutating plugin whose change concerns the plugins before it requests a second mutating round (reference ADM-18).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

import attrs

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.metrics import BOUNDS_S, AdmissionMetrics, Outcomes, outcomes
from orchtw.metrics.series import Histogram
from orchtw.schema.catalogue import ResourceType

Step = Callable[[Attributes], Awaitable[None]]


class ChainPlugin(Protocol):
    """Base interface of plugins, which also have `admit`, `validate` or both."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Report whether the plugin handles such writes; it sees no others.

        The answer is cached: it may depend on the group, plural and scope of the resource, not on its version or on
        time.
        """


@runtime_checkable
class Mutating(ChainPlugin, Protocol):
    """A plugin that takes part in the mutating pass."""

    async def admit(self, attributes: Attributes) -> None:
        """Change the object, or refuse it by raising a StatusError."""


@runtime_checkable
class Validating(ChainPlugin, Protocol):
    """A plugin that takes part in the validating pass."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the finished object by raising a StatusError."""


@runtime_checkable
class Following(ChainPlugin, Protocol):
    """A plugin for which a change of the objects that it follows may be in force later than it is stored."""

    async def in_force(self) -> None:
        """Return when it decides by the objects that the caches have."""


@runtime_checkable
class Idling(ChainPlugin, Protocol):
    """A plugin that can tell at once that it lets a write pass as it is; its steps are then counted, but not run."""

    def idle(self, attributes: Attributes) -> bool:
        """Report whether neither half of the plugin changes or refuses the write, or tells anybody of it.

        False says nothing.
        """


class Measured(NamedTuple):
    """A step, the histograms of its duration, and what tells that it need not be run."""

    step: Step
    outcomes: Outcomes
    idle: Callable[[Attributes], bool] | None = None


class Half:
    """Mutating or validating half of a plan: its steps in order, each timed, as is the whole.

    Iteration yields the steps.
    """

    __slots__ = ("_seconds", "_steps", "_whole")

    def __init__(
        self,
        steps: Sequence[Measured] = (),
        whole: Outcomes | None = None,
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        # Bound methods make counting a third cheaper: every write counts in a dozen series.
        self._steps = tuple((step, idle, measured.passed.observe, measured) for step, measured, idle in steps)
        self._whole = whole or Outcomes(Histogram(BOUNDS_S), Histogram(BOUNDS_S))
        self._seconds = seconds

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter([step for step, *_ in self._steps])

    async def run(self, attributes: Attributes) -> None:
        """Run the steps, and all of them once more if one requests it. Raises the first refusal."""
        if not self._steps:
            return
        seconds, measured = self._seconds, self._whole
        begun = before = seconds()
        try:
            while True:
                for step, idle, passed, measured in self._steps:  # noqa: B007 - what refuses is counted below
                    if idle is None or not idle(attributes):
                        await step(attributes)
                    # One reading of the clock between two steps ends one and begins the other.
                    after = seconds()
                    passed(after - before)
                    before = after
                if not attributes.begins_again():
                    break
        except BaseException:
            after = seconds()
            measured.refused.observe(after - before)
            self._whole.refused.observe(after - begun)
            raise
        self._whole.passed.observe(before - begun)


@attrs.frozen(slots=True)
class AdmissionPlan:
    """Plan of a kind of write: the steps of both halves; `empty` if no plugin handles it."""

    mutating: Half = attrs.field(factory=Half)
    validating: Half = attrs.field(factory=Half)
    empty: bool = attrs.field(init=False)

    @empty.default
    def _empty(self) -> bool:
        return not (self.mutating or self.validating)

    async def both(self, attributes: Attributes) -> None:
        """Run both halves in a row, for writes that need no validation in between."""
        await self.mutating.run(attributes)
        await self.validating.run(attributes)


NOBODY = AdmissionPlan()
"""Plan of a write that no plugin sees."""

MAX_PLANS: Final = 10_000
"""Limit of cached plans; a resource has several."""


class _Member(NamedTuple):
    """Plugin of a chain with the parts that it takes, found once: a check against a protocol takes microseconds."""

    name: str
    plugin: ChainPlugin
    admit: Step | None
    validate: Step | None
    idle: Callable[[Attributes], bool] | None
    following: Following | None

    @classmethod
    def of(cls, name: str, plugin: ChainPlugin) -> _Member:
        """Return the member with this name in metrics."""
        return cls(
            name,
            plugin,
            plugin.admit if isinstance(plugin, Mutating) else None,
            plugin.validate if isinstance(plugin, Validating) else None,
            plugin.idle if isinstance(plugin, Idling) else None,
            plugin if isinstance(plugin, Following) else None,
        )


class Chain:
    """Chain of plugins, in order. `names` are their labels in metrics, by default the names of their classes."""

    def __init__(
        self,
        plugins: Sequence[ChainPlugin] = (),
        metrics: AdmissionMetrics | None = None,
        names: Sequence[str] = (),
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        names = names or [type(plugin).__name__ for plugin in plugins]
        self._plugins = tuple(map(_Member.of, names, plugins))
        self.metrics = metrics or AdmissionMetrics()
        self._seconds = seconds
        self._plans: dict[tuple[str, str, bool, str], AdmissionPlan] = {}

    async def in_force(self) -> None:
        """Return when all plugins decide by the objects that the caches have."""
        for member in self._plugins:
            if member.following is not None:
                await member.following.in_force()

    def plan(self, operation: Operation, resource: ResourceType, subresource: str = "") -> AdmissionPlan:
        """Return the plan of such a write, from the cache if possible."""
        key = (operation, resource.qualified, resource.namespaced, subresource)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MAX_PLANS:  # definitions come and go
                self._plans.clear()
            found = self._plans[key] = self._planned(operation, resource, subresource)
        return found

    def _planned(self, operation: Operation, resource: ResourceType, subresource: str) -> AdmissionPlan:
        concerned = [each for each in self._plugins if each.plugin.handles(operation, resource, subresource)]
        admitting = [(each, each.admit) for each in concerned if each.admit is not None]
        validating = [(each, each.validate) for each in concerned if each.validate is not None]
        return AdmissionPlan(self._half("admit", operation, admitting), self._half("validate", operation, validating))

    def _half(self, kind: str, operation: Operation, steps: Sequence[tuple[_Member, Step]]) -> Half:
        steps_of, controllers = self.metrics.steps, self.metrics.controllers
        measured = [
            Measured(step, outcomes(controllers, member.name, kind, operation), member.idle) for member, step in steps
        ]
        return Half(measured, outcomes(steps_of, kind, operation) if steps else None, self._seconds)
