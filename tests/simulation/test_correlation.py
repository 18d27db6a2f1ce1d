"""Recorder of Events that counts repeated ones and combines similar ones (reference SIM-40)."""

from __future__ import annotations

from typing import Any

from orchtw.simulation.correlation import BURST, COMBINED, REFILL_S, CorrelatingRecorder
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase

INVOLVED: Object = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "a", "uid": "u"}


class CorrelatingRecorderTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.recorder = CorrelatingRecorder(self.world.client, "test", self.world.now)

    def record(self, message: str) -> None:
        """Record an event about the pod."""
        self.world.run(self.recorder.record(INVOLVED, "Normal", "Tested", message))

    @property
    def events(self) -> list[Any]:
        """Messages and counts of all events, in the order of their names."""
        listing = self.world.run(self.world.client.list(self.world.resource("events"), "a"))
        return [(each["message"], each["count"]) for each in (item.load() for item in listing.items)]

    def test_repeated(self) -> None:
        """A message that comes again is counted, not written again; after its end it is a new event."""
        for _ in range(3):
            self.record("again")
        self.assertEqual(self.events, [("again", 3)])
        (name,) = self.world.names("events")
        self.world.run(self.world.client.delete(self.world.resource("events"), "a", name))
        self.record("again")
        self.assertEqual(self.events, [("again", 4)])

    def test_similar(self) -> None:
        """The tenth message of a reason stands for all that follow."""
        for number in range(12):
            self.record(f"m{number}")
        self.assertEqual(len(self.events), 10)
        self.assertIn((f"{COMBINED}m11", 3), self.events)

    def test_burst(self) -> None:
        """About one object only so many are written; later one more every five minutes."""
        for _ in range(BURST + 5):
            self.record("again")
        self.assertEqual(self.events, [("again", BURST)])
        self.world.clock.advance(REFILL_S)
        self.record("again")
        self.assertEqual(self.events, [("again", BURST + 1)])
