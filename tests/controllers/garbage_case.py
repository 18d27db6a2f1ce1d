"""Fixtures of the garbage collector tests."""

from __future__ import annotations

from typing import Any

from orchtw.controllers.garbage_collector import (
    GarbageCollector,
)
from orchtw.rules.delete_options import DeleteOptions, Propagation
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase


class GarbageCollectorCase(ControllerTestCase):
    names = ("garbagecollector",)

    @property
    def collector(self) -> GarbageCollector:
        controller = self.manager.controllers[0]
        assert isinstance(controller, GarbageCollector)
        return controller

    def delete(self, name: str, policy: Propagation | None = None, plural: str = "configmaps") -> bool:
        """Delete, then let everything happen that follows at once."""
        resource = self.world.resource(plural)
        namespace = "a" if resource.namespaced else ""
        gone = self.world.run(
            self.world.client.delete(resource, namespace, name, DeleteOptions(propagation=policy))
        )
        self.world.settle()
        return gone

    def meta(self, name: str) -> Object:
        """The metadata of a config map that must be there."""
        obj = self.world.get("configmaps", name)
        assert obj is not None, name
        meta: Object = obj["metadata"]
        return meta

    def left(self) -> list[str]:
        """The config maps of the namespace."""
        return self.world.names("configmaps")

    def chain(self) -> tuple[Object, Object, Object]:
        """An owner, its dependent, the dependent's dependent."""
        owner = self.world.config_map("owner")
        middle = self.world.config_map("middle", owner)
        return owner, middle, self.world.config_map("leaf", middle)

    def events(self) -> list[Any]:
        """Reason and involved name of each event."""
        listing = self.world.run(self.world.client.list(self.world.resource("events")))
        found = [item.load() for item in listing.items]
        return [(event["reason"], event["involvedObject"]["name"], event["message"]) for event in found]
