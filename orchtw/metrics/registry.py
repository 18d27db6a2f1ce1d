"""The families that `/metrics` shows, and the selection that operators make (reference METRIC-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

from orchtw.metrics.hidden import is_hidden
from orchtw.metrics.series import HISTOGRAM, Read, ShownFamily

F = TypeVar("F", bound=ShownFamily[Any])


class Sample(Protocol):
    """One value of a family of the Prometheus library."""

    @property
    def name(self) -> str:
        """Name of the series."""

    @property
    def labels(self) -> dict[str, str]:
        """Values of its labels, by name."""

    @property
    def value(self) -> float:
        """Its value at the time of the look."""


class Metric(Protocol):
    """A family of the library; declared here, since its import takes 12 ms and only `/metrics` needs it."""

    type: str
    documentation: str

    @property
    def samples(self) -> Sequence[Sample]:
        """All of its values."""


class Collector(Protocol):
    """Source of families of the library."""

    def collect(self) -> Iterable[Metric]:
        """Return the families as they are now."""


MakeCollectors = Callable[[], Sequence[Collector]]


class Registry:
    """Families in the order in which they were added. `release` is the server's own, major and minor.

    `disabled` families are not shown, nor are those that an earlier release deprecated unless `hidden`. `allowed` has
    the only values of each (metric, label) that are shown.
    """

    def __init__(
        self,
        *,
        release: tuple[int, int] = (1, 24),
        disabled: Iterable[str] = (),
        hidden: bool = False,
        allowed: Mapping[tuple[str, str], frozenset[str]] | None = None,
    ) -> None:
        self._release = release
        self._disabled = frozenset(disabled)
        self._hidden = hidden
        self._allowed = allowed or {}
        self._families: dict[str, ShownFamily[Any]] = {}
        self._makers: list[MakeCollectors] = []

    def add(self, family: F) -> F:
        """Add a family to be shown; ValueError if another one has its name."""
        if family.name in self._families:
            raise ValueError(f"two metrics are named {family.name}")
        self._families[family.name] = family
        for (name, label), values in self._allowed.items():
            if name == family.name:
                family.allow(label, values)
        return family

    def show(self, make: MakeCollectors) -> None:
        """Add collectors of the library, which are made for the first look."""
        self._makers.append(make)

    @cached_property
    def _collectors(self) -> Sequence[Collector]:
        return [collector for make in self._makers for collector in make()]

    def families(self) -> Iterator[ShownFamily[Any]]:
        """Yield the families that are shown."""
        yield from filter(self._is_shown, self._families.values())
        for collector in self._collectors:
            for metric in collector.collect():
                if metric.samples and metric.samples[0].name not in self._disabled:
                    yield _of_library(metric)

    def all(self) -> Iterable[ShownFamily[Any]]:
        """Return the registry's own families, hidden ones too."""
        return self._families.values()

    def names(self) -> frozenset[str]:
        """Return the names of all samples that may be shown, also those of families without any yet."""
        found = set()
        for family in self._families.values():
            ends = ("_bucket", "_sum", "_count") if family.kind == HISTOGRAM else ("",)
            found |= {family.name + end for end in ends}
        for collector in self._collectors:
            found |= {sample.name for metric in collector.collect() for sample in metric.samples}
        return frozenset(found)

    def reset(self) -> None:
        """Reset all counts to zero."""
        for family in self._families.values():
            family.reset()

    def _is_shown(self, family: ShownFamily[Any]) -> bool:
        return family.name not in self._disabled and (self._hidden or not is_hidden(family.since, self._release))


def _of_library(metric: Metric) -> Read:
    """Return a family of the library as one of ours; its samples have the same labels."""
    first = metric.samples[0]
    samples = [(tuple(each.labels.values()), each.value) for each in metric.samples if each.name == first.name]
    return Read(lambda: samples, first.name, metric.type, metric.documentation, tuple(first.labels))
