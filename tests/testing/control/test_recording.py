"""Record of a real server as an iterator and in files, and its repetition on another one."""

from __future__ import annotations

import asyncio
import io
import math
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.testing.api_server import ApiServer
from orchtw.testing.async_api_server import AsyncApiServer
from tests.testing.api_servers import CONFIG_MAPS, ForkedServersCase, config_map, shared

SECRETS = CONFIG_MAPS.replace("configmaps", "secrets")
SECRET = {"metadata": {"name": "s"}, "stringData": {"password": "x"}}
MERGE = "application/merge-patch+json"


def create(server: ApiServer, path: str, obj: Any) -> None:
    """Create an object at a collection."""
    server.request("POST", path, obj).checked(path)


class FollowTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.server = shared()

    def test_from_now_on(self) -> None:
        """Writes after the call come as they are made, those of the filters only."""
        create(self.server, CONFIG_MAPS, config_map("before"))
        writes = self.server.follow(resource="configmaps", namespace="default")
        create(self.server, SECRETS, SECRET)
        create(self.server, CONFIG_MAPS, config_map("a"))
        self.assertEqual(next(writes).name, "a")
        create(self.server, CONFIG_MAPS, config_map("b"))
        self.assertEqual(next(writes).name, "b")

    def test_since(self) -> None:
        """Earlier writes come first if a revision is given, and silence ends the iteration."""
        mark = self.server.revision()
        create(self.server, CONFIG_MAPS, config_map("a"))
        create(self.server, CONFIG_MAPS, config_map("b"))
        self.assertEqual(
            [each.name for each in self.server.follow(mark, timeout_s=0.1, user="orch-testing")], ["a", "b"]
        )
        self.assertTrue(next(self.server.follow(mark)).audit_id)


class ExportTests(ForkedServersCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = shared()

    def exported(self, since: int, **filters: Any) -> Path:
        """Return the path of an export from a revision on."""
        path = Path(self.mktemp())
        lines = self.server.export(path, since=since, **filters)
        self.assertEqual(len(path.read_bytes().splitlines()), lines + 1)
        return path

    def test_import(self) -> None:
        """The objects of an export are created on another server, but no Secret whose data are not known."""
        create(self.server, CONFIG_MAPS, config_map("a", x="1"))
        create(self.server, SECRETS, SECRET)
        mark = self.server.revision()
        self.server.request("PATCH", f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}, MERGE).checked("a")
        path = self.exported(mark, namespace="default")
        for at, wanted in ((None, "2"), (mark, "1")):
            self.server.reset()
            imported = self.server.import_(path, at=at)
            self.assertEqual((imported.created, imported.failed, imported.left_out), (1, 0, 1))
            self.assertEqual(len(imported.complaints), 1)
            self.assertIn("secret default/s: its data are not in the export", imported.complaints[0])
            self.assertEqual((self.server.reader().get("configmaps/a") or {})["data"], {"x": wanted})
            self.assertIsNone(self.server.reader().get("secrets/s"))

    def test_replay(self) -> None:
        """The writes of an export are repeated one after the other, by way of a file object."""
        mark = self.server.revision()
        create(self.server, CONFIG_MAPS, config_map("a", x="1"))
        create(self.server, SECRETS, SECRET)
        self.server.request("PATCH", f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}, MERGE).checked("a")
        file = io.BytesIO()
        self.server.export(file, since=mark, namespace="default")
        after = self.server.reset()
        file.seek(0)
        _, replayed = self.server.replay(file, speed=math.inf, users="orch-testing")
        self.assertEqual((replayed.written, replayed.failed), (2, 0))
        self.assertEqual([each.type for each in self.server.writes(since=after)], ["ADDED", "MODIFIED"])
        self.assertEqual(len(replayed.complaints), 1)
        self.assertEqual(self.server.replay(path := self.exported(mark), users=["nobody"])[1].written, 0)
        self.assertRaises(ValueError, self.server.replay, path, speed=0)

    def test_other_file(self) -> None:
        """A file other than an export is refused with its name."""
        path = Path(self.mktemp())
        path.write_text("{}")
        self.assertIn(str(path), str(self.assertRaises(ConfigError, self.server.import_, path)))

    def test_asyncio(self) -> None:
        """The methods are there for coroutines as well."""
        path = Path(self.mktemp())

        async def work() -> list[str]:
            async with AsyncApiServer() as server:
                mark = await server.revision()
                await server.request("POST", CONFIG_MAPS, config_map("a"))
                await server.export(path, since=mark, resource="configmaps")
                await server.reset()
                assert (await server.import_(path)).created == 1
                await server.replay(path, speed=math.inf)
                return [each.name async for each in server.follow(mark, timeout_s=0.1, verb="create")]

        self.assertEqual(asyncio.run(work()).count("a"), 2)
