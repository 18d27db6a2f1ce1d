"""Ends of definitions, round by round (reference CRD-25)."""
# covers: orchtw.controllers.apiextensions.emptying

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

from twisted.internet.defer import ensureDeferred
from twisted.internet.task import Clock

from orchtw.bootstrap.ensurer import system_user
from orchtw.controllers.apiextensions.definition import Definition
from orchtw.controllers.apiextensions.emptying import Emptying
from orchtw.controllers.apiextensions.finalizing import Finalizing
from orchtw.controllers.apiextensions.findings import COMPLETED, IN_PROGRESS, NEVER_ESTABLISHED
from orchtw.controllers.apiextensions.statuses import News
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.definition import CLEANUP_FINALIZER
from tests.client.world import WorldTestCase

FINALIZER = Naming.orch().translate(CLEANUP_FINALIZER)


class Statuses:
    """Writer that notes the news."""

    def __init__(self) -> None:
        self.told: list[News] = []

    async def tell(self, definition: Definition, news: News) -> bool:
        self.told.append(news)
        return True


class FinalizingTests(WorldTestCase):
    """Definitions without objects, whose collection is that of ConfigMaps."""

    def setUp(self) -> None:
        super().setUp()
        self.statuses, clock = Statuses(), Clock()
        registry = self.world.registry
        self.emptying = Emptying(registry.deletion, registry.writes, system_user(Naming.orch()), clock)
        self.finalizing = Finalizing(cast(Any, self.statuses), self.emptying, Naming.orch(), clock)
        self.target = self.world.targets.stored_target("", "v1", "configmaps")

    def definition(self, *finalizers: str) -> Definition:
        spec = {"group": "a.b", "names": {"plural": "foos", "kind": "Foo"}}
        return Definition.of({"metadata": {"name": "foos.a.b", "uid": "u", "finalizers": finalizers}, "spec": spec})

    def done(self, awaited: Awaitable[Any]) -> Any:
        return self.successResultOf(ensureDeferred(awaited))  # type: ignore[arg-type]

    def findings(self) -> list[object]:
        return [finding for news in self.statuses.told for finding in news.findings]

    def test_without_finalizer(self) -> None:
        """A definition without the finalizer has nothing to end."""
        self.assertTrue(self.done(self.finalizing.end(self.definition("a.b/other"), None)))
        self.assertEqual(self.statuses.told, [])

    def test_never_served(self) -> None:
        """One that was never served is released at once."""
        self.assertTrue(self.done(self.finalizing.end(self.definition(FINALIZER), None)))
        self.assertEqual(self.findings(), [NEVER_ESTABLISHED])
        self.assertEqual(self.statuses.told[0].released, FINALIZER)

    def test_objects(self) -> None:
        """A collection with objects is emptied before the definition is released."""
        self.world.config_map("old")
        self.assertEqual(self.done(self.emptying.remaining(self.target.stored)), 1)
        self.assertTrue(self.world.run(self.finalizing.end(self.definition(FINALIZER), self.target)))
        self.assertEqual(self.done(self.emptying.remaining(self.target.stored)), 0)
        self.assertEqual(self.findings(), [IN_PROGRESS, COMPLETED])
