"""Families as text, read by the readers of others (reference METRIC-1, METRIC-2)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_plain
from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.exposition import PART_BYTES, parts
from orchtw.metrics.registry import Registry
from orchtw.metrics.series import STABLE, Summary, counters, gauges, histograms
from tests.properties import examples


def text_of(registry: Registry, *, open_metrics: bool = False) -> str:
    return b"".join(parts(registry.families(), open_metrics=open_metrics)).decode()


def samples(text: str, *, open_metrics: bool = False) -> dict[tuple[str, tuple[Any, ...]], float]:
    read = read_open if open_metrics else read_plain
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in read(text)
        for sample in family.samples
    }


class ExpositionTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.registry = Registry()

    def test_plain(self) -> None:
        """The lines of a counter, a gauge and a histogram, as Prometheus' own libraries write them."""
        self.registry.add(counters("a_total", "A.", ("x", "u"), stability=STABLE)).of('q"\\\n', "v").value += 1
        self.registry.add(gauges("b", "B\\\n.")).of().value = 1.5
        self.registry.add(histograms("c", "C.", (0.05, 1, 10**6), ("x",))).of("y").observe(0.5)
        self.assertEqual(
            text_of(self.registry).splitlines(),
            [
                "# HELP a_total [STABLE] A.",
                "# TYPE a_total counter",
                r'a_total{u="v",x="q\"\\\n"} 1',
                r"# HELP b [ALPHA] B\\\n.",
                "# TYPE b gauge",
                "b 1.5",
                "# HELP c [ALPHA] C.",
                "# TYPE c histogram",
                'c_bucket{x="y",le="0.05"} 0',
                'c_bucket{x="y",le="1"} 1',
                'c_bucket{x="y",le="1e+06"} 1',
                'c_bucket{x="y",le="+Inf"} 1',
                'c_sum{x="y"} 0.5',
                'c_count{x="y"} 1',
            ],
        )

    def test_open(self) -> None:
        """In OpenMetrics a counter's family has no `_total`, its sample always has; the text says where it ends."""
        self.registry.add(counters("a_total", "A.")).of().value = 2
        self.registry.add(counters("attempts", 'B "b".')).of().value = 3
        self.registry.add(histograms("c", "C.", (1,))).of().observe(0.5)
        text = text_of(self.registry, open_metrics=True)
        self.assertIn('# TYPE a counter\na_total 2\n# HELP attempts [ALPHA] B \\"b\\".\n', text)
        self.assertIn('attempts_total 3\n', text)
        self.assertIn('c_bucket{le="1.0"} 1\n', text)
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertEqual(samples(text, open_metrics=True)["attempts_total", ()], 3)

    @examples(100)
    @given(st.dictionaries(st.tuples(st.text(max_size=20), st.text(max_size=20)), st.floats(allow_nan=False)))
    def test_read_again(self, values: dict[tuple[str, str], float]) -> None:
        """Whatever the labels are, a reader finds the same values in both forms."""
        registry = Registry()
        family = registry.add(gauges("a", "A.", ("x", "y")))
        for labels, value in values.items():
            family.of(*labels).value = value
        expected = {("a", (("x", x), ("y", y))): value for (x, y), value in values.items()}
        for open_metrics in (False, True):
            found = samples(text_of(registry, open_metrics=open_metrics), open_metrics=open_metrics)
            self.assertEqual(found, expected)

    def test_library(self) -> None:
        """A collector of the library is shown in both formats, without creation timestamps."""
        apart = CollectorRegistry()
        Counter("a", "A.", ("x",), registry=apart).labels("y").inc()
        Gauge("b", "B.", registry=apart).set(2)
        self.registry.show(lambda: [apart])
        plain = text_of(self.registry)
        self.assertIn('# HELP a_total [ALPHA] A.\n# TYPE a_total counter\na_total{x="y"} 1\n', plain)
        self.assertIn("# HELP b [ALPHA] B.\n", plain)
        self.assertNotIn("_created", plain)
        self.assertEqual(samples(text_of(self.registry, open_metrics=True), open_metrics=True)["b", ()], 2)

    def test_summary(self) -> None:
        """A summary shows the counts and sums of a family of histograms."""
        durations = self.registry.add(histograms("a", "A.", (1,), ("x",)))
        self.registry.add(Summary(durations, "S."))
        for seconds in (0.5, 2):
            durations.of("y").observe(seconds)
        shown = text_of(self.registry)
        self.assertIn('# TYPE a_summary summary\na_summary_sum{x="y"} 2.5\na_summary_count{x="y"} 2\n', shown)
        found = samples(text_of(self.registry, open_metrics=True), open_metrics=True)
        self.assertEqual(found["a_summary_count", (("x", "y"),)], 2)

    def test_without_series(self) -> None:
        """A family that has nothing to show is not named."""
        self.registry.add(counters("a_total", "A.", ("x",)))
        self.assertEqual(text_of(self.registry), "")

    def test_slices(self) -> None:
        """However many series there are, they come in parts of a bounded size, which read the same."""
        family = self.registry.add(histograms("a", "A.", tuple(range(20)), ("x",), most=2000))
        for number in range(2000):
            family.of(str(number)).observe(number % 20)
        found = list(parts(self.registry.families(), open_metrics=False))
        self.assertGreater(len(found), 10)
        self.assertLess(max(map(len, found)), 2 * PART_BYTES)
        self.assertEqual(len(samples(b"".join(found).decode())), 2000 * 23)
