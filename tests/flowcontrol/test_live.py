"""Schemas and levels as objects of a store: read as they come, damaged and large ones too."""
# covers: orchtw.flowcontrol.levels

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.live import LEVELS, SCHEMAS, Live
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.watch.entry import LARGE_BYTES
from orchtw.wire.objects import Object
from tests.flowcontrol.configured import level, schema

ALICE = UserInfo(name="alice", groups=("system:authenticated",))
GET = RequestInfo(is_resource=True, verb="get", path="/", resource="pods", namespace="a")


class Stored:
    """One kind's objects; `take` is what the cache does with a change."""

    def __init__(self) -> None:
        self.cache = self
        self.follower: Any = None

    def follow(self, follower: Any) -> None:
        self.follower = follower

    def snapshot(self) -> tuple[()]:
        return ()

    def load(self, entry: Any) -> Object:
        obj: Object = entry.obj
        return obj

    def put(self, obj: Object, size: int = 100) -> None:
        name = obj["metadata"]["name"]
        entry = SimpleNamespace(name=name, key=name, namespace="", raw=b"x" * size, obj=obj)
        self.follower.take(SimpleNamespace(new=entry, old=None))

    def remove(self, name: str) -> None:
        self.follower.take(SimpleNamespace(new=None, old=SimpleNamespace(name=name, key=name)))


class FollowingTests(SynchronousTestCase):
    """`Live` over two caches."""

    def setUp(self) -> None:
        self.kinds = {SCHEMAS: Stored(), LEVELS: Stored()}
        self.away: list[Deferred[None]] = []

        def find(group: str, version: str, plural: str) -> Any:
            return SimpleNamespace(stored=self.kinds[plural])

        self.live = Live(cast(Any, SimpleNamespace(stored_target=find)), Naming.orch(), 100, cast(Any, self.run_away))
        self.live.follow()
        self.kinds[LEVELS].put(level("low"))

    async def run_away(self, _size: int, work: Callable[[], Any]) -> Awaitable[Any]:
        waiting: Deferred[None] = Deferred()
        self.away.append(waiting)
        await waiting
        found: Awaitable[Any] = work()
        return found

    def found(self) -> str:
        return self.live.flow(ALICE, GET).schema.name

    def test_changes(self) -> None:
        """A created or removed object counts for the next request."""
        self.assertEqual(self.found(), "catch-all")
        self.kinds[SCHEMAS].put(schema("a", 500, "low"))
        self.assertEqual(self.found(), "a")
        self.kinds[LEVELS].remove("low")
        self.assertEqual(self.found(), "catch-all")
        self.kinds[LEVELS].put(level("low"))
        self.kinds[SCHEMAS].remove("a")
        self.assertEqual(self.found(), "catch-all")

    def test_mandatory_objects_need_not_be_there(self) -> None:
        """When they are deleted they count all the same (reference FLOW-7)."""
        self.kinds[SCHEMAS].remove("catch-all")
        self.kinds[LEVELS].remove("exempt")
        root = UserInfo(name="root", groups=("system:masters",))
        self.assertEqual(self.live.flow(root, GET).level.name, "exempt")
        self.assertEqual(self.found(), "catch-all")

    def test_unreadable(self) -> None:
        """An object that cannot be read is logged and counts for nothing; others do."""
        self.kinds[SCHEMAS].put(schema("a", 500, "low"))
        self.kinds[SCHEMAS].put({"metadata": {"name": "bad"}, "spec": {"rules": 3}})
        self.assertEqual(len(self.flushLoggedErrors()), 1)
        self.assertEqual(self.found(), "a")

    def test_large(self) -> None:
        """A large object is parsed in a thread and counts from then on, in its last state."""
        self.kinds[SCHEMAS].put(schema("old", 500, "low"), LARGE_BYTES + 1)
        self.assertEqual(self.found(), "catch-all")
        self.kinds[SCHEMAS].put(schema("old", 500, "missing"), LARGE_BYTES + 1)
        for waiting in self.away:
            waiting.callback(None)
        self.assertEqual(self.found(), "catch-all")
        self.assertEqual([each.level for each in self.live.objects()], ["missing"])
        self.kinds[SCHEMAS].put(schema("old", 500, "low"))
        self.assertEqual(self.found(), "old")

    def test_listeners(self) -> None:
        """A listener is called on each change."""
        told: list[int] = []
        self.live.listen(lambda: told.append(1))
        self.kinds[SCHEMAS].put(schema("a", 500, "low"))
        self.kinds[SCHEMAS].remove("a")
        self.assertEqual(len(told), 2)
