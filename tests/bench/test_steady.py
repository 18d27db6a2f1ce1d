"""Table and drawings of a steady load."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bench.steady import drawings, intervals, table


def interval(at_s: float, **more: Any) -> dict[str, Any]:
    """A line of `orch-load --json`."""
    operations = {"create pods": {"per_s": 5.0}, "bind pods": {"per_s": 5.2}}
    return {"period": "interval", "at_s": at_s, "operations": operations, "events": {"per_s": 1200.0, "p99_ms": 31.4},
            **more}  # fmt: skip


class SteadyTests(SynchronousTestCase):
    """Lines of two minutes, of which the server's use is known in one."""

    def setUp(self) -> None:
        server = {"cpus": 0.254, "resident_mib": 1234.5}
        self.lines = [interval(60.0, server=server), interval(120.0), {"period": "total"}]

    def test_table(self) -> None:
        """A row has requests and events per second, their latency, CPU and memory."""
        self.assertEqual(len(intervals(self.lines)), 1)
        self.assertEqual(table(self.lines), "| 60 s | 10/s | 1,200/s | 31 ms | 25 % | 1,234 MiB |")

    def test_drawings(self) -> None:
        """The drawings have the same figures."""
        found = drawings(self.lines)
        self.assertIn("60 s: 25", found["cpu.svg"])
        self.assertIn("60 s: 1,234", found["memory.svg"])
