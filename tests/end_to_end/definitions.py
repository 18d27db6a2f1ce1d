"""Definitions of custom resources on a running server, installed for a test and gone after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from orchtw.wire.objects import Object
from tests.definitions.build import Schema, in_vocabulary, part, version, whole
from tests.definitions.build import definition as build
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import Answer

PATIENCE_S = 100.0
"""How long something may take that a controller does; reached only when the test fails."""
PAUSE_S = 0.02


def condition(obj: Object, type_: str) -> Object:
    """The condition of that type, or {}."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), {})


def is_true(obj: Object, type_: str) -> bool:
    """Report whether a condition is True."""
    return condition(obj, type_).get("status") == "True"


def gizmo(group: str, spec: Schema | None = None, **more: Any) -> Object:
    """A definition of a small kind in one version, with a status and a scale."""
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    found = version("v1", spec or part(size=whole(0, 10, default=1)), part(size=whole()), scale=scale)
    return build(group, "Gizmo", [found], **more)


class DefinitionCase(ServerCase):
    """Short ways to definitions and to the objects of their kinds."""

    @property
    def definitions(self) -> str:
        """The collection of definitions."""
        return f"/apis/{self.naming.group('apiextensions.orch.io')}/v1/customresourcedefinitions"

    def own_group(self) -> str:
        """A group that no other test has."""
        return f"{self.unique('group')}.example.com"

    async def install(self, *definitions: Object) -> None:
        """Create definitions, all at once; return when their kinds are served. They go at the end of the test."""
        named = [in_vocabulary(each, self.naming) for each in definitions]
        for each in named:
            self.addCleanup(self.uninstall, each["metadata"]["name"])
        await self.together([self.created(self.definitions, each) for each in named])
        for each in named:
            await self.served(each["metadata"]["name"])

    async def served(self, name: str) -> Object:
        """The definition once it is established and its first version that is served can be read."""
        path = f"{self.definitions}/{name}"
        answer = await self.eventually(path, lambda answer: is_true(answer.json, "Established"))
        definition: Object = answer.json
        version = next(each["name"] for each in definition["spec"]["versions"] if each["served"])
        await self.until_code(self.everywhere(definition, version), 200)
        return definition

    async def uninstall(self, name: str) -> None:
        """Delete a definition, and return once it has gone."""
        await self.client.delete(f"{self.definitions}/{name}")
        await self.until_code(f"{self.definitions}/{name}", 404)

    def everywhere(self, definition: Object, version: str = "") -> str:
        """The collection of a kind in all namespaces, in its storage version unless another is named."""
        spec = definition["spec"]
        name = version or next(each["name"] for each in spec["versions"] if each["storage"])
        return f"/apis/{self.naming.group(spec['group'])}/{name}/{spec['names']['plural']}"

    def custom(self, definition: Object, *rest: str, version: str = "") -> str:
        """A path in the collection of a kind in the test's namespace."""
        everywhere = self.everywhere(definition, version)
        if definition["spec"]["scope"] == "Namespaced":
            head, _, plural = everywhere.rpartition("/")
            everywhere = f"{head}/namespaces/{self.namespace}/{plural}"
        return "/".join((everywhere, *rest))

    async def until(self, what: str, reached: Any) -> None:
        """Ask again and again until the answer is yes; fails with `what` when that takes too long."""
        end = reactor.seconds() + PATIENCE_S
        while not await reached():
            self.assertLess(reactor.seconds(), end, f"not reached: {what}")
            await deferLater(reactor, PAUSE_S, lambda: None)

    async def until_code(self, path: str, code: int) -> Answer:
        """Read a path until the answer has this status."""
        return await self.eventually(path, lambda answer: answer.code == code)

    async def eventually(self, path: str, holds: Callable[[Answer], bool]) -> Answer:
        """The first answer of a GET that is as it should be."""
        end = reactor.seconds() + PATIENCE_S
        while not holds(answer := await self.client.get(path)):
            self.assertLess(reactor.seconds(), end, f"{path} has never been as it should be: {answer}")
            await deferLater(reactor, PAUSE_S)
        return answer

    async def together(self, work: list[Any]) -> list[Any]:
        """Do it all at once; the first failure counts."""
        results: list[Any] = await gatherResults([Deferred.fromCoroutine(each) for each in work], consumeErrors=True)
        return results
