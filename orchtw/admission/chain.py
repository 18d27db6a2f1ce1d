"""The order of admission: every mutating plugin, then (after validation) every validating one (reference ADM-2).

A mutating plugin that has changed an object in a way that those before it should look at asks for a second round of
the mutating half (reference ADM-18).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

import attrs

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.metrics import AdmissionMetrics, Durations, Outcomes, outcomes
from orchtw.schema.catalogue import ResourceType

Step = Callable[[Attributes], Awaitable[None]]


class ChainPlugin(Protocol):
    """Base contract of plugins, which also have `admit` or `validate` or both."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Report whether such writes concern the plugin; it sees no others.

        The answer is kept: it may depend on group, plural and scope of the resource, not on its version or on time.
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


Measured = tuple[Step, Outcomes]
"""A step, and where its time is counted."""


class Half:
    """One half of what a kind of write passes: its steps in their order, each timed, and all together.

    Iterating gives the bare steps.
    """

    __slots__ = ("_seconds", "_steps", "_whole")

    def __init__(
        self,
        steps: Sequence[Measured] = (),
        whole: Outcomes | None = None,
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        # With its method at hand a series costs a third less: every write counts in a dozen.
        self._steps = tuple((step, measured.passed.observe, measured) for step, measured in steps)
        self._whole = whole or Outcomes(Durations(), Durations())
        self._seconds = seconds

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter([step for step, *_ in self._steps])

    async def run(self, attributes: Attributes) -> None:
        """Ask each step, and all of them once more if one asks for that; the first refusal is raised."""
        if not self._steps:
            return
        seconds, measured = self._seconds, self._whole
        begun = before = seconds()
        try:
            while True:
                for step, passed, measured in self._steps:  # noqa: B007 - the one that refuses is looked at below
                    await step(attributes)
                    # One look at the clock between two steps: it ends one and begins the other.
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
    """Plan of a kind of write: the plugins of both passes, and whether it is empty."""

    mutating: Half = attrs.field(factory=Half)
    validating: Half = attrs.field(factory=Half)
    empty: bool = attrs.field(init=False)

    @empty.default
    def _empty(self) -> bool:
        return not (self.mutating or self.validating)

    async def both(self, attributes: Attributes) -> None:
        """Run one half after the other, where nothing happens between them."""
        await self.mutating.run(attributes)
        await self.validating.run(attributes)


NOBODY = AdmissionPlan()
"""The plan of a write that no plugin is to see."""

MAX_PLANS: Final = 10_000
"""That are kept: some for each resource."""


class Chain:
    """The plugins in their order, each under the name that metrics call it by; without `names` that of its class."""

    def __init__(
        self,
        plugins: Sequence[ChainPlugin] = (),
        metrics: AdmissionMetrics | None = None,
        names: Sequence[str] = (),
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        names = names or [type(plugin).__name__ for plugin in plugins]
        self._plugins = tuple(zip(names, plugins, strict=True))
        self.metrics = metrics or AdmissionMetrics()
        self._seconds = seconds
        self._plans: dict[tuple[str, str, bool, str], AdmissionPlan] = {}

    def plan(self, operation: Operation, resource: ResourceType, subresource: str = "") -> AdmissionPlan:
        """Return the plan of such a write."""
        key = (operation, resource.qualified, resource.namespaced, subresource)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MAX_PLANS:  # definitions come and go
                self._plans.clear()
            found = self._plans[key] = self._planned(operation, resource, subresource)
        return found

    def _planned(self, operation: Operation, resource: ResourceType, subresource: str) -> AdmissionPlan:
        concerned = [each for each in self._plugins if each[1].handles(operation, resource, subresource)]
        mutating = [(name, plugin.admit) for name, plugin in concerned if isinstance(plugin, Mutating)]
        validating = [(name, plugin.validate) for name, plugin in concerned if isinstance(plugin, Validating)]
        return AdmissionPlan(self._half("admit", operation, mutating), self._half("validate", operation, validating))

    def _half(self, kind: str, operation: Operation, steps: Sequence[tuple[str, Step]]) -> Half:
        steps_of, controllers = self.metrics.steps, self.metrics.controllers
        measured = [(step, outcomes(controllers, name, kind, operation)) for name, step in steps]
        return Half(measured, outcomes(steps_of, kind, operation) if steps else None, self._seconds)
