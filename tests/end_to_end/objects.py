"""Objects of everyday kinds, and short ways to them, for the tests of the API's conventions."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase
from tests.end_to_end.client import Answer

TABLE = "application/json;as=Table;g=meta.orch.io;v=v1"
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def config_map(name: str, **metadata: Any) -> Object:
    """Return the body of a ConfigMap."""
    return {"metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def deployment(name: str) -> Object:
    """A Deployment of one container."""
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    }


class ConventionCase(ServerCase):
    """Short ways to objects."""

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.maps, self.deployments = self.core("configmaps"), self.group("apps/v1", "deployments")

    async def make(self, name: str = "a", **metadata: Any) -> Object:
        """Return a ConfigMap that is stored."""
        return await self.created(self.maps, config_map(name, **metadata))

    async def ok(self, answer: Answer, code: int = 200) -> Object:
        """The object of a good answer."""
        self.assertEqual(answer.code, code, answer)
        obj: Object = answer.json
        return obj
