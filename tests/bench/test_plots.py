"""Drawings and the table of docs/performance.md, made from its figures."""

from __future__ import annotations

from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from bench.figures import FOLDER, PAGE, load
from bench.plots import Plot, drawing, drawings


class DrawingTests(SynchronousTestCase):
    """Bars of the drawings."""

    def test_committed(self) -> None:
        """Committed drawings are those of the figures, and on the page (else: `python -m bench.plots`)."""
        made = drawings(load())
        self.assertEqual({path.name: path.read_text() for path in FOLDER.glob("*.svg")}, made)
        for name in made:
            self.assertIn(f"(performance/{name})", PAGE.read_text())

    def test_bars(self) -> None:
        """Bars are as long as their numbers are large; a number that is missing has none."""
        plot = Plot("Cost", "ms", ["a", "b"], [("one", [1.0, 4.0]), ("<two>", [None, 2.0])])
        root = ElementTree.fromstring(drawing(plot))
        bars = root.findall(".//{*}rect")[len(plot.series) :]  # after the legend
        lengths = [float(each.get("width", "")) for each in bars]
        self.assertEqual([round(length / lengths[0], 1) for length in lengths], [1, 4, 2])
        described = root.find("{*}desc")
        assert described is not None and described.text is not None
        self.assertIn("<two>: not measured, 2", described.text)

    def test_compared(self) -> None:
        """A row that names one figure has the reference, this server beside it, and this server today."""
        figure = {"today": {"server_cpu_ms_per_op": [1.0, 2.0]}, "reference": 4, "beside": 3}
        plot = Plot.of({"title": "Cost", "unit": "ms", "rows": {"get": "a get"}}, {"a get": figure})
        self.assertEqual(plot.rows, [("get", [4, 3, 1.5])])

    def test_wrong_row(self) -> None:
        """A row without a figure for each series is rejected."""
        given = {"title": "Cost", "unit": "ms", "series": ["a", "b"], "rows": {"one": ["x"]}}
        self.assertRaises(ValueError, Plot.of, given, {"x": {"today": {"cpu_ms_min": 1.0}}})
