"""Drawings of docs/performance.md, made from its figures."""

from __future__ import annotations

from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from bench.plots import FOLDER, Plot, drawing, drawings

PAGE = FOLDER.parent / "performance.md"


class DrawingTests(SynchronousTestCase):
    def test_committed(self) -> None:
        """Committed drawings are those of the figures, and on the page (else: `python -m bench.plots`)."""
        made = drawings()
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

    def test_wrong_row(self) -> None:
        """A row without a number for each series is refused."""
        given = {"title": "Cost", "unit": "ms", "series": ["a", "b"], "rows": [["one", 1]]}
        self.assertRaises(ValueError, Plot.of, given)
