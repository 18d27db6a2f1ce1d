"""Families as text, of Prometheus and OpenMetrics (reference METRIC-1).

Text comes in parts, each made on demand, so that thousands of series do not block other work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import isinf, isnan
from typing import Any, Final

from orchtw.metrics.series import COUNTER, HISTOGRAM, SUMMARY, Histogram, ShownFamily, Values

PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PART_BYTES: Final = 64 * 1024
"""Size of a part, which exceeds it by at most one series and takes some milliseconds at most."""

_TOTAL: Final = "_total"
_EXACT: Final = 1 << 53


def parts(families: Iterable[ShownFamily[Any]], *, open_metrics: bool) -> Iterator[bytes]:
    """Yield the families as text, in their order."""
    lines: list[str] = []
    size = 0
    for family in families:
        for text in _family(family, open_metrics):
            lines.append(text)
            size += len(text)
            if size >= PART_BYTES:
                yield "".join(lines).encode()
                lines, size = [], 0
    if open_metrics:
        lines.append("# EOF\n")
    yield "".join(lines).encode()


def _family(family: ShownFamily[Any], open_metrics: bool) -> Iterator[str]:
    name, sample = family.name, family.name
    if open_metrics and family.kind == COUNTER:
        name = name.removesuffix(_TOTAL)
        sample = name + _TOTAL
    head: str | None = _head(name, family.kind, family.help, open_metrics)
    for values, series in family.series():
        if head is not None:
            yield head
            head = None
        if family.kind == HISTOGRAM:
            yield _histogram(sample, family.labels, values, series, open_metrics)
        elif family.kind == SUMMARY:
            yield _totals(sample, _pairs(family.labels, values), series, series.count)
        else:
            yield f"{sample}{_labels(family.labels, values)} {_number(series.value)}\n"


def _histogram(name: str, labels: Values, values: Values, series: Histogram, open_metrics: bool) -> str:
    shown = _pairs(labels, values)
    start = f'{name}_bucket{{{shown},le="' if shown else f'{name}_bucket{{le="'
    bounds = _bounds(series.bounds, open_metrics)
    counted = list(series.cumulated())
    lines = [f'{start}{bound}"}} {count}\n' for bound, count in zip(bounds, counted, strict=True)]
    lines.append(_totals(name, shown, series, counted[-1]))
    return "".join(lines)


def _totals(name: str, shown: str, series: Histogram, count: int) -> str:
    braced = f"{{{shown}}}" if shown else ""
    return f"{name}_sum{braced} {_number(series.total)}\n{name}_count{braced} {count}\n"


def _head(name: str, kind: str, help: str, open_metrics: bool) -> str:
    text = help.replace("\\", r"\\").replace("\n", r"\n")
    if open_metrics:
        text = text.replace('"', r"\"")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _labels(labels: Values, values: Values) -> str:
    return f"{{{_pairs(labels, values)}}}" if labels else ""


def _pairs(labels: Values, values: Values) -> str:
    """Format labels in the order of their names."""
    return ",".join([f'{labels[at]}="{_escaped(values[at])}"' for at in _order(labels)])


@lru_cache(maxsize=1024)
def _order(labels: Values) -> tuple[int, ...]:
    return tuple(sorted(range(len(labels)), key=labels.__getitem__))


def _escaped(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value


@lru_cache(maxsize=64)
def _bounds(bounds: tuple[float, ...], open_metrics: bool) -> tuple[str, ...]:
    """Format bounds: `1`, `0.05`, `1e+06`; in OpenMetrics `1.0`."""
    texts = [f"{bound:g}" for bound in bounds]
    if open_metrics:
        texts = [f"{text}.0" if text.isdigit() else text for text in texts]
    return (*texts, "+Inf")


def _number(value: float) -> str:
    """Format a number, an integer without a fraction."""
    if isinstance(value, int):
        return str(value)
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < _EXACT else repr(value)
