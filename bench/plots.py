"""Drawings and the table of docs/performance.md, made from docs/performance/figures.json.

`python -m bench.plots` writes both. With files of lines (`python -m bench > ours.jsonl`, then `python -m bench.plots
ours.jsonl`), it first takes this server's figures from them. Each drawing has horizontal bars: a group for each row,
and in it a bar for each series. Text takes the colour of the reader's light or dark mode.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import attrs

from bench.figures import FOLDER, PAGE, as_number, first, load, save, updated, with_table

COMPARED: Final = ("kube-apiserver and etcd", "orchtw beside it", "orchtw today")
_WIDTH, _LABELS, _NUMBERS = 760, 230, 60
_BAR, _GAP, _TOP, _LEGEND = 14, 10, 34, 22
_COLOURS: Final = ("#2f7ed8", "#e08a1e", "#4f9d69")
_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .axis { stroke: #8c959f }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
""".strip("\n")


@attrs.frozen
class Plot:
    """Bars of one drawing: `rows` has a label and a number for each of the `series`; None: not measured."""

    title: str
    unit: str
    series: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]

    @classmethod
    def of(cls, given: Mapping[str, Any], figures: Mapping[str, Mapping[str, Any]]) -> Plot:
        """Return the plot of an entry, whose rows name figures: one beside the reference, or one for each series.

        Raises ValueError if a row does not have a figure for each series.
        """
        rows: list[tuple[str, Sequence[float | None]]] = []
        for label, names in given["rows"].items():
            if isinstance(names, str):
                figure = figures[names]
                rows.append((label, [figure["reference"], figure["beside"], as_number(first(figure))]))
            else:
                rows.append((label, [name and as_number(first(figures[name])) for name in names]))
        series = given.get("series", COMPARED)
        if any(len(values) != len(series) for _, values in rows):
            raise ValueError(f"{given['title']}: a row has not as many figures as there are series")
        return cls(given["title"], given["unit"], series, rows)

    @property
    def largest(self) -> float:
        """Return the number that the longest bar stands for."""
        return max(value for _, values in self.rows for value in values if value is not None)


def drawing(plot: Plot) -> str:
    """Return the SVG of a plot, the same for the same figures."""
    legend = _LEGEND if len(plot.series) > 1 else 0
    group = len(plot.series) * _BAR + _GAP
    height = _TOP + legend + len(plot.rows) * group + _GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(plot.title)}</title>",
        f"<desc>{escape(_described(plot))}</desc>",
        f"<style>\n{_STYLE}\n</style>",
        _text(0, 18, f"{plot.title} ({plot.unit})", "title"),
        *(_legend(plot.series) if legend else ()),
        *_bars(plot, _TOP + legend, group),
        f'<line class="axis" x1="{_LABELS}" x2="{_LABELS}" y1="{_TOP + legend}" y2="{height - _GAP}"/>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bars(plot: Plot, top: int, group: int) -> Iterator[str]:
    scale = (_WIDTH - _LABELS - _NUMBERS) / plot.largest
    for place, (label, values) in enumerate(plot.rows):
        y = top + place * group
        yield _text(_LABELS - 8, y + len(values) * _BAR / 2 + 4, label, anchor="end")
        for number, value in enumerate(values):
            at = y + number * _BAR
            if value is not None:
                length = max(1.0, value * scale)
                yield (
                    f'<rect x="{_LABELS}" y="{at}" width="{length:.1f}" height="{_BAR - 2}" '
                    f'fill="{_COLOURS[number]}"/>'
                )
                yield _text(_LABELS + length + 5, at + _BAR - 3, f"{value:,g}")


def _legend(series: Sequence[str]) -> Iterator[str]:
    step = (_WIDTH - _LABELS) // len(series)
    for number, name in enumerate(series):
        x = _LABELS + number * step
        yield f'<rect x="{x}" y="{_TOP - 4}" width="12" height="12" fill="{_COLOURS[number]}"/>'
        yield _text(x + 18, _TOP + 7, name)


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "") -> str:
    more = (f' class="{style}"' if style else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(text)}</text>'


def _described(plot: Plot) -> str:
    """Return all figures as text, for readers who do not see the drawing."""
    rows = (
        f"{label}: " + ", ".join("not measured" if value is None else f"{value:,g}" for value in values)
        for label, values in plot.rows
    )
    return f"{', '.join(plot.series)}. {'; '.join(rows)}."


def drawings(content: Mapping[str, Any]) -> dict[str, str]:
    """Return every drawing by the name of its file."""
    figures = {figure["name"]: figure for part in ("table", "other") for figure in content[part]}
    return {f"{name}.svg": drawing(Plot.of(given, figures)) for name, given in content["plots"].items()}


def main(files: Sequence[str]) -> None:
    """Take figures from the files' lines, and write the drawings and the table."""
    content = load()
    if files:
        lines = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
        content = updated(content, lines)
        save(content)
    for name, text in drawings(content).items():
        (FOLDER / name).write_text(text)
    PAGE.write_text(with_table(PAGE.read_text(), content))


if __name__ == "__main__":
    main(sys.argv[1:])
