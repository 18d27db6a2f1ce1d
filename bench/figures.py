"""Figures of docs/performance.md: the file that holds them, their update from measured lines, and the page's table.

A figure names the lines of `python -m bench` that it is read from, and the fields of those lines that it keeps. A
field is one number, or the range of the runs where they differ. Figures of the reference were measured beside this
server on another machine; no update changes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "performance"
FIGURES: Final = FOLDER / "figures.json"
PAGE: Final = FOLDER.parent / "performance.md"

Figure = Mapping[str, Any]
"""One figure: `name`, `line` (what its lines must say), `today` (fields by name), and what the reference took."""

Number = float | Sequence[float]

STEADY: Final = 1.1  # runs whose largest value is at most so many times the smallest are shown by their median
SHOWN: Final = {
    "server_cpu_ms_per_op": "{} ms",
    "server_cpu_us_per_delivery": "{} µs",
    "cpu_ms_min": "{} ms",
    "ops_per_s": "{}/s",
    "deliveries_per_s": "{}/s",
    "p50_ms": "p50 {} ms",
    "p99_ms": "p99 {} ms",
    "p99_after_ack_ms": "p99 {} ms",
    "ready_ms": "{} ms",
    "rss_mib": "{} MiB",
    "rss_total_mib": "{} MiB",
    "kib_per_watcher": "{} KiB",
}
"""Format of each field on the page."""

_BEGIN: Final = "<!-- table: python -m bench.plots -->\n"
_END: Final = "<!-- end of table -->\n"
_HEAD: Final = "| work | today | reference / orchtw beside it | ratio |\n|---|---|---|---|\n"


def load(path: Path = FIGURES) -> dict[str, Any]:
    """Return the content of the file: `table` and `other` have figures, `plots` has the drawings."""
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def save(content: Mapping[str, Any], path: Path = FIGURES) -> None:
    """Write the file, one figure a line."""
    parts = []
    for name, part in content.items():
        if isinstance(part, list):
            rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in part)
            parts.append(f'  "{name}": [\n{rows}\n  ]')
        else:
            rows = ",\n".join(f'    "{key}": {json.dumps(row, ensure_ascii=False)}' for key, row in part.items())
            parts.append(f'  "{name}": {{\n{rows}\n  }}')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def updated(content: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content with today's fields from the lines; a figure without a line keeps what it has.

    Lines with errors or of `--quick` say nothing, and those with a label are another server's.
    """
    sound = [line for line in lines if not any(line.get(mark) for mark in ("errors", "quick", "server"))]
    return {
        **content,
        **{part: [_updated(figure, sound) for figure in content[part]] for part in ("table", "other")},
    }


def _updated(figure: Figure, lines: Iterable[Mapping[str, Any]]) -> Figure:
    found = [line for line in lines if all((line.get(key) or 0) == value for key, value in figure["line"].items())]
    if not found:
        return figure
    today = {field: _of_runs([float(line[field]) for line in found]) for field in figure["today"]}
    return {**figure, "today": today}


def _of_runs(values: Sequence[float]) -> Number:
    low, high = min(values), max(values)
    if high <= STEADY * low:
        return _rounded(median(values))
    return [_rounded(low), _rounded(high)]


def _rounded(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")


def as_number(value: Number) -> float:
    """Return the number that a bar stands for: of a range, its middle."""
    return value if isinstance(value, int | float) else mean(value)


def first(figure: Figure) -> Number:
    """Return the first field, which is the one that was measured of the reference, too."""
    value: Number = next(iter(figure["today"].values()))
    return value


def ratio(figure: Figure) -> str:
    """Return how many times this server's cost the reference took beside it; empty where nothing was measured."""
    if "ratio" in figure:
        return str(figure["ratio"])
    return f"{_rounded(figure['reference'] / figure['beside'], 2):g}" if "reference" in figure else ""


def table(content: Mapping[str, Any]) -> str:
    """Return the page's table of the figures in `table`."""
    return _HEAD + "".join(_row(figure) for figure in content["table"])


def _row(figure: Figure) -> str:
    today: Mapping[str, Number] = figure["today"]
    fields = ", ".join(SHOWN[field].format(_shown(value)) for field, value in today.items())
    beside = ""
    if "reference" in figure:
        beside = SHOWN[next(iter(today))].format(f"{figure['reference']:,g} / {figure['beside']:,g}")
    return f"| {figure['name']} | {fields} | {beside} | {ratio(figure)} |\n"


def _shown(value: Number) -> str:
    numbers = [value] if isinstance(value, int | float) else value
    return " to ".join(f"{number:,g}" for number in numbers)


def with_table(page: str, content: Mapping[str, Any]) -> str:
    """Return the page with the table between its marks. Raises ValueError if they are not there."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the marks {_BEGIN.strip()} and {_END.strip()} are not on the page")
    return f"{before}{begin}\n{table(content)}\n{end}{after}"
