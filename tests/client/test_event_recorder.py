"""Events that controllers record about objects."""

from __future__ import annotations

from typing import Any

from twisted.logger import capturedLogs, formatEvent

from orchtw.client.event_recorder import MESSAGE_LIMIT, EventRecorder
from orchtw.errors import Forbidden
from tests.client.world import EPOCH_S, WorldTestCase


class EventRecorderTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.recorder = EventRecorder(self.world.client, "tester", lambda: EPOCH_S + 0.25)

    def record(self, message: str = "why", **involved: str) -> None:
        """Record one event about a config map."""
        about: dict[str, Any] = {"kind": "ConfigMap", "apiVersion": "v1", "name": "m", "namespace": "a", **involved}
        self.world.run(self.recorder.record(about, "Warning", "Broken", message))

    def events(self, namespace: str = "a") -> list[dict[str, Any]]:
        """All events of a namespace."""
        events = self.world.resource("events")
        listing = self.world.run(self.world.client.list(events, namespace))
        return [item.load() for item in listing.items]

    def test_event(self) -> None:
        """An event states its object, reason, source and time, and lies in the namespace of its object."""
        self.record()
        (event,) = self.events()
        self.assertEqual((event["type"], event["reason"], event["message"]), ("Warning", "Broken", "why"))
        self.assertEqual((event["involvedObject"]["name"], event["source"]), ("m", {"component": "tester"}))
        self.assertEqual((event["firstTimestamp"], event["count"]), ("2023-11-14T22:13:20Z", 1))
        self.assertTrue(event["metadata"]["name"].startswith("m."))

    def test_same_moment(self) -> None:
        """Events of one moment have names of their own, also those about the longest names."""
        for _ in range(2):
            self.record(name="x" * 253)
        self.assertEqual(len(self.events()), 2)

    def test_cluster_object(self) -> None:
        """An event about an object without a namespace is created in the default one."""
        self.record(namespace="")
        self.assertEqual(len(self.events("default")), 1)

    def test_long_message(self) -> None:
        """A long message is cut."""
        self.record("x" * 5000)
        self.assertEqual(len(self.events()[0]["message"]), MESSAGE_LIMIT)

    def test_refused(self) -> None:
        """A refused event is logged, and its recorder does not fail."""
        with capturedLogs() as logged:
            self.record(namespace="nowhere")
        lines = [formatEvent(event) or "" for event in logged]
        self.assertEqual(
            len([line for line in lines if line.startswith("failed to record event Broken on m: ")]), 1, lines
        )

    def test_ending_namespace(self) -> None:
        """That events are refused in a namespace that is being deleted is not logged."""
        causes = [{"reason": "NamespaceTerminating", "message": "", "field": ""}]

        async def refuse(*_: Any, **__: Any) -> None:
            raise Forbidden("ending", {"causes": causes})

        self.patch(self.world.client, "create", refuse)
        with capturedLogs() as logged:
            self.record()
        self.assertEqual([line for line in map(formatEvent, logged) if line and "failed to record" in line], [])
