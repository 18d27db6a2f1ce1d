"""Reports of a period, as text and as JSON."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.deliveries import DeliveryCounts
from orchtw.commands.load.report import Period, as_json, as_text
from orchtw.commands.load.server_usage import ProcessUsage
from orchtw.commands.load.statistics import Figures


def period() -> Period:
    """An interval with something of everything."""
    figures = Figures()
    for latency_s in (0.001, 0.001, 0.5):
        figures.answered("create pods", latency_s)
    figures.errors["bind pods", 409] = 2
    figures.errors["list pods", 0] = 1
    deliveries = DeliveryCounts(events=1200, compared=1000, lost=1, late=2, repeated=3, disordered=4, relists=5)
    usage = ProcessUsage(cpus=0.5, mib=2048)
    return Period(
        at_s=20.0, length_s=10.0, figures=figures, deliveries=deliveries, lag_s=0.02, skipped=7, usage=usage
    )


class ReportTests(SynchronousTestCase):
    """Numbers that users and programs read."""

    def test_text(self) -> None:
        """The table has rates, latencies, errors by code, the events, and the server's use."""
        text = as_text(period())
        for line in (
            "20 s, over 10 s; server 50 % of a CPU, 2,048 MiB; generator lag 20 ms; 7 replacements skipped\n",
            "  create pods                    0.3       1.0     498.4     498.4     500.0\n",
            "  bind pods: 2 x 409\n  list pods: 1 x no answer\n",
            "1,200 delivered, 1,000 compared with their writes",
            "1 lost, 2 late, 3 repeated, 4 out of order, 5 relists\n",
        ):
            self.assertIn(line, text)

    def test_json(self) -> None:
        """The line of JSON has the same numbers."""
        line = as_json(period())
        value = json.loads(line)
        self.assertNotIn("\n", line)
        self.assertEqual((value["period"], value["errors"]), ("interval", {"bind pods 409": 2, "list pods 0": 1}))
        self.assertEqual((value["operations"]["create pods"]["count"], value["events"]["lost"]), (3, 1))
        self.assertEqual(value["server"], {"cpus": 0.5, "resident_mib": 2048})
