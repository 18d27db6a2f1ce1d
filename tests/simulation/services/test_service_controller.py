"""Services by the labels that they select, and which changes of pods bring them back (reference SIM-70)."""

from __future__ import annotations

from orchtw.simulation.services.service_controller import Selectors, ServiceController
from orchtw.wire.objects import Object
from tests.simulation.services.case import ServiceCase


class Noting(ServiceController):
    """Controller that notes the Services it looks at."""

    name = "noting"
    account = "endpoint-controller"
    looked: list[str]

    async def sync_service(self, key: str, service: Object | None) -> None:
        """Note the key of a Service that is there."""
        if service is not None:
            self.__dict__.setdefault("looked", []).append(key)


class ServiceControllerTests(ServiceCase):
    """A controller that only looks."""

    made = (Noting,)

    def looked(self) -> list[str]:
        """The Services that were looked at since the last call."""
        noted: list[str] = self.controllers[0].__dict__.pop("looked", [])
        return noted

    def test_selectors(self) -> None:
        """A Service is found by labels that include its selector, in its namespace, while it has one."""
        selectors = self.simulated.shared(Selectors)
        self.service()
        labels = {"app": "web", "more": "x"}
        self.assertEqual(list(selectors.matching("a", labels)), ["a/web"])
        self.assertFalse(selectors.matching("b", labels) or selectors.matching("a", {"app": "other"}))
        self.merge("services", "web", {"spec": {"selector": {"app": "other"}}}, "v1")
        self.assertFalse(selectors.matching("a", labels))
        self.delete("services", "web", "v1")
        self.assertFalse(selectors.matching("a", {"app": "other"}))

    def test_changes(self) -> None:
        """Changes of a pod that its Services can see bring them back; others do not."""
        self.service()
        self.backend("one", "10.1.0.1")
        self.looked()
        self.merge("pods", "one", {"metadata": {"annotations": {"x": "1"}}}, "v1")
        self.assertEqual(self.looked(), [])
        self.merge("pods", "one", {"metadata": {"labels": {"app": "other"}}}, "v1")
        self.assertEqual(self.looked(), ["a/web"])
