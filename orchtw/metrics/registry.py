"""The families that `/metrics` shows, and which of them operators leave out (reference METRIC-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from orchtw.metrics.series import ALPHA, COUNTER, HISTOGRAM, UNEXPECTED, ShownSeries

_ENDS: Final = {COUNTER: "_total", HISTOGRAM: "_bucket"}
"""By type: how the samples of a family of the library are named."""

F = TypeVar("F", bound=ShownSeries[Any])


class Registry:
    """In the order in which they were added. `release` is the server's own, major and minor.

    `disabled` families are not shown, nor are those that an earlier release deprecated unless `hidden`. `allowed` has
    the values of (metric, label) that are shown as they are.
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
        self._families: dict[str, ShownSeries[Any]] = {}
        self._collectors: list[tuple[Collector, frozenset[str]]] = []

    def add(self, family: F) -> F:
        """Show a family from now on; ValueError if one has its name."""
        if family.name in self._families:
            raise ValueError(f"two metrics are named {family.name}")
        self._families[family.name] = family
        for (name, label), values in self._allowed.items():
            if name == family.name:
                family.allow(label, values)
        return family

    def show(self, collector: Collector, bare: Iterable[str] = ()) -> None:
        """Show what a collector of the library finds; those of its untyped families that are `bare` are counters."""
        self._collectors.append((collector, frozenset(bare)))

    def families(self) -> Iterator[ShownSeries[Any] | Metric]:
        """Yield the families that are shown."""
        for name, family in self._families.items():
            if name not in self._disabled and not self._is_hidden(family):
                yield family
        for collector, bare in self._collectors:
            for metric in collector.collect():
                if metric.name in bare:
                    metric.type = COUNTER
                if not metric.documentation.startswith("["):
                    metric.documentation = f"[{ALPHA}] {metric.documentation}"
                names = {metric.name, f"{metric.name}_total"}
                if not self._disabled & names:
                    self._limit(metric, names)
                    yield metric

    def _limit(self, metric: Metric, names: set[str]) -> None:
        """Show no other values of labels than those that are allowed; what is equal then is added up."""
        limited = {label: values for (name, label), values in self._allowed.items() if name in names}
        if not limited:
            return
        sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        for sample in metric.samples:
            shown = tuple(
                (label, value if value in limited.get(label, (value,)) else UNEXPECTED)
                for label, value in sample.labels.items()
            )
            sums[sample.name, shown] = sums.get((sample.name, shown), 0) + sample.value
        metric.samples = [Sample(name, dict(labels), value) for (name, labels), value in sums.items()]

    def all(self) -> Iterable[ShownSeries[Any]]:
        """Its own families, those that are not shown too."""
        return self._families.values()

    def names(self) -> frozenset[str]:
        """The names of all samples that may be shown, of families that have nothing to show yet too."""
        found = set()
        for family in self._families.values():
            ends = ("_bucket", "_sum", "_count") if family.kind == HISTOGRAM else ("",)
            found |= {family.name + end for end in ends}
        for collector, _ in self._collectors:
            for metric in collector.collect():
                found |= {sample.name for sample in metric.samples} or {f"{metric.name}{_ENDS.get(metric.type, '')}"}
        return frozenset(found)

    def reset(self) -> None:
        """Let all counts begin anew."""
        for family in self._families.values():
            family.reset()

    def _is_hidden(self, family: ShownSeries[Any]) -> bool:
        if not family.since or self._hidden:
            return False
        major, minor, _ = family.since.split(".")
        return (int(major), int(minor)) < self._release
