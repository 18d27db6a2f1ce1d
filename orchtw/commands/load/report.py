"""Figures of an interval or of the whole run, as a table or as a line of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import orjson

from orchtw.commands.load.deliveries import DeliveryCounts
from orchtw.commands.load.histogram import Histogram
from orchtw.commands.load.server_usage import ProcessUsage
from orchtw.commands.load.statistics import Figures

SHARES: Final = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99}


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an interval, or of the whole run if `total`.

    `lag_s` is the longest delay of the program's own timer, `skipped` the replacements that were not begun in time.
    """

    at_s: float
    length_s: float
    figures: Figures
    deliveries: DeliveryCounts
    lag_s: float
    skipped: int = 0
    usage: ProcessUsage | None = None
    total: bool = False


def as_json(period: Period) -> str:
    """Return a period as one line of JSON."""
    figures, found = period.figures, period.deliveries
    value: dict[str, Any] = {
        "period": "total" if period.total else "interval",
        "at_s": round(period.at_s, 1),
        "length_s": round(period.length_s, 1),
        "operations": {name: _latencies(each, period.length_s) for name, each in sorted(figures.latencies.items())},
        "errors": {f"{operation} {code}": number for (operation, code), number in sorted(figures.errors.items())},
        "events": {
            "per_s": _rate(found.events, period.length_s),
            "compared": found.compared, "lost": found.lost, "late": found.late, "repeated": found.repeated,
            "disordered": found.disordered, "relists": found.relists,
            **_latencies(found.latencies, period.length_s, rate=False),
        },
        "skipped_pods": period.skipped,
        "generator_lag_ms": round(period.lag_s * 1000),
    }  # fmt: skip
    if period.usage is not None:
        value["server"] = {"cpus": round(period.usage.cpus, 3), "resident_mib": round(period.usage.mib, 1)}
    return orjson.dumps(value).decode()


def as_text(period: Period) -> str:
    """Return a period as a table."""
    lines = _heading(period), *_operations(period), *_errors(period.figures), _events(period.deliveries)
    return "\n".join(lines) + "\n"


def _heading(period: Period) -> str:
    name = "total" if period.total else f"{period.at_s:.0f} s"
    parts = [f"{name}, over {period.length_s:.0f} s"]
    if period.usage is not None:
        parts.append(f"server {period.usage.cpus * 100:.0f} % of a CPU, {period.usage.mib:,.0f} MiB")
    parts.append(f"generator lag {period.lag_s * 1000:.0f} ms")
    if period.skipped:
        parts.append(f"{period.skipped:,} replacements skipped")
    return "; ".join(parts)


def _operations(period: Period) -> Iterator[str]:
    yield f"  {'operation':24}{'per s':>10}{'p50 ms':>10}{'p90 ms':>10}{'p99 ms':>10}{'max ms':>10}"
    for name, histogram in sorted(period.figures.latencies.items()):
        found = _latencies(histogram, period.length_s)
        yield f"  {name:24}" + "".join(f"{value:>10,.1f}" for key, value in found.items() if key != "count")


def _errors(figures: Figures) -> Iterator[str]:
    for (operation, code), number in sorted(figures.errors.items()):
        yield f"  {operation}: {number:,} x {code or 'no answer'}"


def _events(found: DeliveryCounts) -> str:
    latencies = _latencies(found.latencies, 1.0, rate=False)
    shown = ", ".join(f"{name.removesuffix('_ms')} {value:,.1f}" for name, value in latencies.items())
    return (
        f"  events: {found.events:,} delivered, {found.compared:,} compared with their writes ({shown} ms), "
        f"{found.lost} lost, {found.late} late, {found.repeated} repeated, {found.disordered} out of order, "
        f"{found.relists} relists"
    )


def _latencies(histogram: Histogram, length_s: float, *, rate: bool = True) -> Mapping[str, float]:
    found: dict[str, float] = {"count": histogram.count, "per_s": _rate(histogram.count, length_s)} if rate else {}
    for name, share in SHARES.items():
        found[name] = round(histogram.percentile_s(share) * 1000, 2)
    return {**found, "max_ms": round(histogram.largest_s * 1000, 2)}


def _rate(number: int, length_s: float) -> float:
    return round(number / max(length_s, 1e-9), 2)
