"""APIServices in a world of its own."""

from __future__ import annotations

from typing import Any

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.registry.aggregation.services import GROUP, ApiServices
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase

BACKEND: Object = {"namespace": "a", "name": "there", "port": 443}


def api_service(name: str = "v1.example.com", *, local: bool = False, **spec: Any) -> Object:
    """An object of that name; remote unless it is local."""
    version, _, group = name.partition(".")
    own: Object = {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 10}
    if not local:
        own |= {"service": BACKEND, "insecureSkipTLSVerify": True}
    return {"metadata": {"name": name}, "spec": {**own, **spec}}


class AggregationCase(WorldTestCase):
    """The APIServices of a world, followed."""

    def setUp(self) -> None:
        super().setUp()
        world = self.world
        self.resource = world.resource("apiservices", f"{GROUP}/v1")
        self.ensurer = Ensurer(targets=world.targets, writes=world.registry.writes, naming=world.naming)
        self.services = ApiServices(world.targets, world.naming)
        self.services.open()

    def make(self, obj: Object) -> Object:
        """Create an APIService of the world."""
        return self.world.run(self.world.client.create(self.resource, "", obj))

    def change(self, name: str, changes: Object, subresource: str = "") -> Object:
        """Change an APIService of the world."""
        return self.world.run(self.world.client.patch(self.resource, "", name, changes, subresource))

    def delete(self, name: str) -> None:
        """Delete an APIService of the world."""
        self.world.run(self.world.client.delete(self.resource, "", name))

    def found(self, name: str) -> Object | None:
        """Return an APIService as it is stored now, or None."""
        item = self.world.run(self.world.client.find(self.resource, "", name))
        return None if item is None else item.load()

    def condition(self, name: str = "v1.example.com") -> Object:
        """Return its condition Available without type and time; empty if it has none."""
        found = (self.found(name) or {}).get("status", {}).get("conditions") or [{}]
        return {key: value for key, value in found[0].items() if key not in ("type", "lastTransitionTime")}
