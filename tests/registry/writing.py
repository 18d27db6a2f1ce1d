"""The write path of a world: writes by name, plugins that tell what they saw, and rivals that are faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import ChainPlugin
from orchtw.registry.target import Target
from orchtw.registry.write import Transform, Write, Written
from orchtw.request import UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.schema.catalogue import ResourceType
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from tests.client.world import World

USER = UserInfo(name="ann", groups=("staff",))


class Watching:
    """A plugin that does in each pass what a test says, of all writes but the server's own."""

    def __init__(self) -> None:
        self.mutate: Callable[[Attributes], Awaitable[None] | None] = _pass
        self.check: Callable[[Attributes], Awaitable[None] | None] = _pass

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        return True

    async def admit(self, attributes: Attributes) -> None:
        await self._do(self.mutate, attributes)

    async def validate(self, attributes: Attributes) -> None:
        await self._do(self.check, attributes)

    @contextmanager
    def refusing(self, half: str = "mutate") -> Iterator[None]:
        """Refuse every write in one of the passes."""
        before = getattr(self, half)
        setattr(self, half, _refuse)
        yield
        setattr(self, half, before)

    @staticmethod
    async def _do(step: Callable[[Attributes], Awaitable[None] | None], attributes: Attributes) -> None:
        if attributes.user is USER and (waiting := step(attributes)) is not None:
            await waiting


def _pass(attributes: Attributes) -> None:
    """Plugin that does nothing."""


def _refuse(attributes: Attributes) -> None:
    raise attributes.forbidden("no")


class Rival:
    """Does something while another write is on its way: once, or as often as it is asked to."""

    def __init__(self, act: Callable[[], Awaitable[Any]], times: int = 1) -> None:
        self._act = act
        self._times = times

    def __call__(self, attributes: Attributes) -> Awaitable[Any] | None:
        if not self._times:
            return None
        self._times -= 1
        return self._act()


class WriteTestCase(SynchronousTestCase):
    """Writes by ann in a world with a namespace `a`; `plugin` sees each of them."""

    def setUp(self) -> None:
        self.plugin = Watching()
        self.world = World(plugins=self.plugins())
        self.addCleanup(self.world.stop)
        self.world.namespace("a")
        self.writes = self.world.registry.writes
        self.maps = self.target("configmaps")

    def plugins(self) -> Sequence[ChainPlugin]:
        """Return the plugins behind NamespaceLifecycle in the chain."""
        return [self.plugin]

    def target(self, plural: str, group_version: str = "v1") -> Target:
        group, _, version = group_version.rpartition("/")
        found = self.world.targets.find(group, version, plural)
        assert found is not None
        return found

    def write(self, target: Target, name: str = "", **more: Any) -> Write:
        given: dict[str, Any] = {"namespace": "a" if target.resource.namespaced else "", "user": USER, **more}
        return Write(target=target, name=name, **given)

    def canonical(self, target: Target, obj: Object) -> Object:
        """A copy of `obj`, as it comes out of a request's body."""
        found = target.codec.normalise(obj)
        target.codec.set_defaults(found)
        return found

    def create(self, obj: Object, target: Target | None = None, **more: Any) -> Object:
        """Return the stored object."""
        target = target or self.maps
        write = self.write(target, **more)
        return target.load(self.world.run(self.writes.create(write, self.canonical(target, obj))))

    def config_map(self, name: str = "x", **more: Any) -> Object:
        """A new config map."""
        return self.create({"metadata": {"name": name, **more}, "data": {"key": "old"}})

    def update(self, transform: Transform, name: str = "x", target: Target | None = None, **more: Any) -> Written:
        """Change an object by a function of the live one."""
        return self.world.run(self.writes.update(self.write(target or self.maps, name, **more), transform))

    def put(self, obj: Object, target: Target | None = None, **more: Any) -> Written:
        """Replace an object by PUT."""
        target = target or self.maps
        return self.update(lambda live: self.canonical(target, obj), obj["metadata"]["name"], target, **more)

    def set_data(self, value: str, **more: Any) -> Written:
        """Give config map x data, whatever its version."""

        def change(live: Object | None) -> Object:
            assert live is not None
            live["metadata"].pop("resourceVersion")
            return {**live, "data": {"key": value}}

        return self.update(change, from_live=True, **more)

    def delete(self, name: str = "x", target: Target | None = None, **options: Any) -> bool:
        """Delete an object; whether it is gone."""
        given = DeleteOptions(**options)
        write = self.write(target or self.maps, name, dry_run=given.dry_run)
        return self.world.run(self.world.registry.deletion.delete(write, given)).gone

    def live(self, name: str = "x", target: Target | None = None) -> Object | None:
        """The stored object, or None."""
        target = target or self.maps
        entry: Entry | None = target.stored.get("a" if target.resource.namespaced else "", name)
        return None if entry is None else target.load(entry)

    def data(self) -> Object:
        """The data of config map x."""
        found = self.live()
        assert found is not None
        data: Object = found["data"]
        return data

    async def label(self, **labels: str) -> None:
        """A rival's patch of config map x."""
        client, maps = self.world.client, self.world.resource("configmaps")
        await client.patch(maps, "a", "x", {"metadata": {"labels": labels}})
