"""The metrics of several processes in one text."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.exposition import PART_BYTES, parts
from orchtw.metrics.registry import Registry
from orchtw.metrics.series import counters, gauges, histograms
from orchtw.metrics.several import labelled, merged


def text(worker: int, *, open_metrics: bool = False) -> bytes:
    """Return the metrics text of a worker whose values are its own number."""
    registry = Registry()
    registry.add(counters("a_total", "Counts.", ("verb",))).of('GE"T}\n{').value = worker
    if worker:
        registry.add(gauges("b", "Of some only.")).of().value = worker
    registry.add(histograms("c", "Sizes.", (1.0,))).of().observe(worker)
    return b"".join(labelled(parts(registry.families(), open_metrics=open_metrics), worker))


class SeveralTests(SynchronousTestCase):
    """Labels and families (reference METRIC-16)."""

    def test_labels(self) -> None:
        """Each series names its process, whatever text its other labels have."""
        found = b"".join(merged([text(0), text(2)], open_metrics=False)).decode()
        families = {each.name: each for each in text_string_to_metric_families(found)}
        self.assertEqual(
            [(sample.labels, sample.value) for sample in families["a"].samples],
            [({"worker": "0", "verb": 'GE"T}\n{'}, 0), ({"worker": "2", "verb": 'GE"T}\n{'}, 2)],
        )
        self.assertEqual([sample.labels for sample in families["b"].samples], [{"worker": "2"}])
        self.assertEqual({sample.labels["worker"] for sample in families["c"].samples}, {"0", "2"})

    def test_one_place(self) -> None:
        """A family is in one place and has one head; the open form ends once."""
        found = b"".join(merged([text(0, open_metrics=True), text(1, open_metrics=True)], open_metrics=True))
        self.assertEqual((found.count(b"# HELP a "), found.count(b"# TYPE c "), found.count(b"# EOF\n")), (1, 1, 1))
        self.assertTrue(found.endswith(b"# EOF\n"))

    def test_parts(self) -> None:
        """A family of many series comes in parts that end between lines, so that a scrape holds little at a time."""
        registry = Registry()
        counts = registry.add(counters("a_total", "Counts.", ("path",)))
        for number in range(10_000):
            counts.of(f"{number}\n# HELP a")
        own = b"".join(labelled(parts(registry.families(), open_metrics=False), 3))
        found = list(merged([text(0), own, text(1)], open_metrics=False))
        self.assertLess(max(map(len, found)), PART_BYTES + 200)
        self.assertEqual([part[-1:] for part in found], [b"\n"] * len(found))
        whole = b"".join(found)
        heads = [line for line in whole.splitlines() if line.startswith(b"# HELP a")]
        self.assertEqual(heads, text(0).splitlines()[:1])
        lines = sorted([*text(0).splitlines(), *own.splitlines(), *text(1).splitlines()])
        self.assertEqual(sorted({*whole.splitlines()}), sorted({*lines}))
        self.assertEqual(list(merged([b"", b"# EOF\n"], open_metrics=True)), [b"# EOF\n"])
