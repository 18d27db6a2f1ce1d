"""Families as text: that of Prometheus, and OpenMetrics (reference METRIC-1).

Text comes in parts, each made when it is asked for, so that thousands of series hold up nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isinf, isnan
from typing import Any, Final

from prometheus_client.core import Metric

from orchtw.metrics.series import COUNTER, HISTOGRAM, Histogram, ShownSeries, Values

PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PART_BYTES: Final = 64 * 1024
"""A part is not longer than this and one series, and takes some milliseconds at most."""

_TOTAL: Final = "_total"
_BOUND: Final = "le"
_EXACT: Final = 1 << 53
_UNSHOWN: Final = ("_created", "_gsum", "_gcount")
_PLAIN_TYPES: Final = {"info": "gauge", "stateset": "gauge", "gaugehistogram": "histogram", "unknown": "untyped"}


def parts(families: Iterable[ShownSeries[Any] | Metric], *, open_metrics: bool) -> Iterator[bytes]:
    """The families as text, in their order."""
    lines: list[str] = []
    size = 0
    for family in families:
        written = _library(family, open_metrics) if isinstance(family, Metric) else _own(family, open_metrics)
        for text in written:
            lines.append(text)
            size += len(text)
            if size >= PART_BYTES:
                yield "".join(lines).encode()
                lines, size = [], 0
    if open_metrics:
        lines.append("# EOF\n")
    yield "".join(lines).encode()


def _own(family: ShownSeries[Any], open_metrics: bool) -> Iterator[str]:
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
        else:
            yield f"{sample}{_labels(family.labels, values)} {_number(series.value)}\n"


def _histogram(name: str, labels: Values, values: Values, series: Histogram, open_metrics: bool) -> str:
    shown = _pairs(labels, values)
    start = f'{name}_bucket{{{shown},le="' if shown else f'{name}_bucket{{le="'
    bounds = _bounds(series.bounds, open_metrics)
    counted = list(series.cumulated())
    lines = [f'{start}{bound}"}} {count}\n' for bound, count in zip(bounds, counted, strict=True)]
    braced = f"{{{shown}}}" if shown else ""
    lines.append(f"{name}_sum{braced} {_number(series.total)}\n{name}_count{braced} {counted[-1]}\n")
    return "".join(lines)


def _library(metric: Metric, open_metrics: bool) -> Iterator[str]:
    """A family that the library has made, whose counters end in `_total`; those that `Registry.show` names do not."""
    if not metric.samples:
        return
    name, kind = metric.name, metric.type
    bare = kind == COUNTER and any(sample.name == name for sample in metric.samples)
    if not open_metrics:
        if kind == COUNTER and not bare:
            name += _TOTAL
        elif kind == "info":
            name += "_info"
        kind = _PLAIN_TYPES.get(kind, kind)
    yield _head(name, kind, metric.documentation, open_metrics)
    for sample in metric.samples:
        if sample.name.endswith(_UNSHOWN) and sample.name != metric.name:
            continue
        shown = sample.name + _TOTAL if bare and open_metrics else sample.name
        yield f"{shown}{_library_labels(sample.labels, open_metrics)} {_number(sample.value)}\n"


def _head(name: str, kind: str, help: str, open_metrics: bool) -> str:
    text = help.replace("\\", r"\\").replace("\n", r"\n")
    if open_metrics:
        text = text.replace('"', r"\"")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _labels(labels: Values, values: Values) -> str:
    return f"{{{_pairs(labels, values)}}}" if labels else ""


def _pairs(labels: Values, values: Values) -> str:
    """Labels in the order of their names."""
    return ",".join([f'{labels[at]}="{_escaped(values[at])}"' for at in _order(labels)])


@lru_cache(maxsize=1024)
def _order(labels: Values) -> tuple[int, ...]:
    return tuple(sorted(range(len(labels)), key=labels.__getitem__))


def _library_labels(labels: Mapping[str, str], open_metrics: bool) -> str:
    """A bound stands at the end, written as those of our own."""
    names = tuple(name for name in labels if name != _BOUND)
    shown = [_pairs(names, tuple(labels[name] for name in names))] if names else []
    if _BOUND in labels:
        bound = labels[_BOUND] if open_metrics else _number(float(labels[_BOUND]))
        shown.append(f'{_BOUND}="{bound}"')
    return f"{{{','.join(shown)}}}" if shown else ""


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
