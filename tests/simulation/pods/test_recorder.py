"""Events about simulated pods (reference SIM-23)."""

from __future__ import annotations

from typing import Any

import msgspec

from orchtw.simulation.correlation import BURST
from orchtw.simulation.pods.recorder import INVALID, PodEvents, Report
from tests.client.world import WorldTestCase
from tests.controllers.controlled import host

REPORT = Report(
    namespace="a", pod="p", uid="u", host="node-0", type="Normal", reason="Started", message="m",
    field="spec.containers{c}",
)  # fmt: skip


class PodEventsTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.allowed = True
        self.reports = PodEvents(self.world.client, host(self.world), self.world.now, lambda event_type: self.allowed)
        self.reports.start()
        self.addCleanup(self.reports.stop)

    def report(self, report: Report) -> None:
        """Report an event, and let it be written."""
        self.reports.report(report)
        self.world.settle()

    @property
    def events(self) -> list[Any]:
        """The events, in the order of their names."""
        listing = self.world.run(self.world.client.list(self.world.resource("events"), "a"))
        return [item.load() for item in listing.items]

    def test_source(self) -> None:
        """An event is that of the node's agent about the container."""
        self.report(REPORT)
        (found,) = self.events
        self.assertEqual(found["source"], {"component": "orchlet", "host": "node-0"})
        self.assertEqual(found["involvedObject"]["fieldPath"], "spec.containers{c}")

    def test_counted(self) -> None:
        """Equal events are counted, up to what is written about one pod at once."""
        for _ in range(BURST + 5):
            self.report(REPORT)
        self.assertEqual([each["count"] for each in self.events], [BURST])

    def test_too_many(self) -> None:
        """Events that are too many for the whole cluster are dropped before they wait."""
        self.allowed = False
        self.report(REPORT)
        self.assertEqual(self.events, [])

    def test_once(self) -> None:
        """A finding that repeats at each look at a pod is written once."""
        invalid = msgspec.structs.replace(REPORT, reason=INVALID)
        for _ in range(3):
            self.report(invalid)
        self.assertEqual([each["count"] for each in self.events], [1])
