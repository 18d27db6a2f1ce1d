"""The plugin in a server without a network, as `python -m twisted.trial tests` runs it in this folder."""

from __future__ import annotations

from typing import Any

from orchtw_examples.admission import ANNOTATION, CREATED_BY
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.plugins import Plugins
from orchtw.testing.in_process import InProcessServer

MAPS = "/api/v1/namespaces/default/configmaps"


class CreatedByTests(TestCase):
    async def setUp(self) -> None:
        self.server = InProcessServer(
            reactor,
            self.mktemp(),
            plugins=Plugins.of_records({"CreatedBy": CREATED_BY}),
            enable_admission_plugins=("CreatedBy",),
        )
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def test_new_object(self) -> None:
        """A new object says who made it, whatever the client says."""
        body: dict[str, Any] = {"metadata": {"name": "a", "annotations": {ANNOTATION: "somebody else"}}}
        answer = await self.server.request("POST", MAPS, body)
        self.assertEqual(answer.json["metadata"]["annotations"], {ANNOTATION: "admin"})

    async def test_update(self) -> None:
        """An update that changes the annotation is refused."""
        await self.server.request("POST", MAPS, {"metadata": {"name": "a"}})
        answer = await self.server.request("PUT", f"{MAPS}/a", {"metadata": {"name": "a"}})
        self.assertEqual(answer.code, 403)
        self.assertIn(f"annotation {ANNOTATION} is immutable", answer.json["message"])
