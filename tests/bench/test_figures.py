"""Figures of docs/performance.md, their update from the lines of a run, and the page's table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bench.figures import PAGE, load, save, table, updated, with_table

GET = {
    "name": "get Pod",
    "line": {"scenario": "get_pod_json", "conc": 64, "kib": 0},
    "today": {"server_cpu_ms_per_op": 0.9, "p99_ms": 9.0},
    "reference": 0.6,
    "beside": 0.2,
}


def content(*figures: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file with these figures."""
    return {"table": list(figures), "other": [], "plots": {}}


def line(cpu_ms: float, **fields: object) -> dict[str, object]:
    """Return a line of the scenario of `GET`."""
    about = {"scenario": "get_pod_json", "conc": 64, "errors": 0}
    return {**about, "server_cpu_ms_per_op": cpu_ms, "p99_ms": 20.0, **fields}


class UpdateTests(SynchronousTestCase):
    """Figures taken from lines."""

    def today(self, *lines: dict[str, object]) -> object:
        """Return the CPU of a get after an update from the lines."""
        (figure,) = updated(content(GET), lines)["table"]
        self.assertEqual((figure["reference"], figure["beside"]), (0.6, 0.2))
        return figure["today"]["server_cpu_ms_per_op"]

    def test_median(self) -> None:
        """Runs that agree within a tenth are shown by their median."""
        self.assertEqual(self.today(line(0.5), line(0.52), line(0.51234)), 0.512)

    def test_range(self) -> None:
        """Runs that differ by more are shown by their range."""
        self.assertEqual(self.today(line(0.5), line(0.7), line(0.6)), [0.5, 0.7])

    def test_other_lines(self) -> None:
        """Lines of another scenario, load or size, with errors, a label or `--quick` change nothing."""
        others = ({"scenario": "list"}, {"conc": 1}, {"kib": 6}, {"errors": 2}, {"server": "old"}, {"quick": True})
        self.assertEqual(self.today(*(line(0.1, **each) for each in others)), 0.9)


class TableTests(SynchronousTestCase):
    """The table of the page."""

    def test_committed(self) -> None:
        """The numbers of the page's table are those of the figures (else: `python -m bench.plots`)."""
        page = PAGE.read_text()
        self.assertEqual(with_table(page, load()), page)

    def test_row(self) -> None:
        """A row has today's fields, the reference and this server beside it, and their ratio."""
        shown = table(content(GET)).splitlines()[2]
        self.assertEqual(shown, "| get Pod | 0.9 ms, p99 9 ms | 0.6 / 0.2 ms | 3 |")

    def test_marks(self) -> None:
        """A page without the marks is rejected, and not written without its table."""
        self.assertRaises(ValueError, with_table, "# Performance\n", content(GET))

    def test_file(self) -> None:
        """The file is written as it is read."""
        path = Path(self.mktemp())
        save(load(), path)
        self.assertEqual(load(path), load())
