"""CPU and memory by the server's metrics."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.server_usage import ProcessUsage, ServerUsage

METRICS = b"""# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
process_cpu_seconds_total %b
process_resident_memory_bytes 1.048576e+06
"""


class ServerUsageTests(SynchronousTestCase):
    """Differences of two readings."""

    def test_use(self) -> None:
        """The first reading is the beginning; the next one gives CPUs on average and memory."""
        unused: Any = None
        usage = ServerUsage(unused, unused)
        self.assertIsNone(usage.taken(METRICS % b"3.5", 10.0))
        self.assertEqual(usage.taken(METRICS % b"8.5", 20.0), ProcessUsage(0.5, 1.0))

    def test_without_metrics(self) -> None:
        """A server that does not show them has no figures."""
        unused: Any = None
        self.assertIsNone(ServerUsage(unused, unused).taken(b"forbidden", 10.0))
