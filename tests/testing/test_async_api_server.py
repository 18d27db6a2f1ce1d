"""`AsyncApiServer`: the same server for coroutines of asyncio."""
# covers: orchtw.testing.control.reader

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from orchtw.testing.async_api_server import AsyncApiServer
from orchtw.testing.control.failures import ConditionNotMet, NotQuiet
from orchtw.testing.control.reader import AsyncReader
from orchtw.testing.control.selectors import absent
from orchtw.testing.start_failed import StartFailed
from tests.testing.api_servers import CONFIG_MAPS, ForkedServersCase, config_map, run_python

LOOPS = """
import asyncio
from orchtw.testing import AsyncApiServer

async def look(server):
    await server.eventually("namespaces/default")
    await server.reset()

server = AsyncApiServer()
asyncio.run(server.start())
asyncio.run(look(server))
asyncio.run(look(server))
asyncio.run(server.stop())
"""


class AsyncApiServerTests(ForkedServersCase):
    async def _all(self) -> None:
        async with AsyncApiServer() as server:
            mark = await server.revision()

            async def make() -> None:
                await server.request("POST", CONFIG_MAPS, config_map("a", x="1"))

            async def made(read: AsyncReader) -> bool:
                return await read.get("configmaps/a") is not None

            found, read, _ = await asyncio.gather(server.eventually("configmaps/a"), server.eventually(made), make())
            self.assertEqual((found["data"], read), ({"x": "1"}, True))
            self.assertEqual([each.name for each in await server.writes(since=mark)], ["a"])
            state = await server.snapshot()
            await server.request("DELETE", f"{CONFIG_MAPS}/a")
            await server.eventually("configmaps/a", absent)
            await server.restore(state)
            await server.eventually("configmaps/a")
            fault = await server.faults.add(status=503, resource="configmaps")
            self.assertEqual([each.id for each in await server.faults.list()], [fault.id])
            await server.faults.remove(fault)
            await server.quiet(0.01)
            writing = asyncio.create_task(self._write(server))
            with self.assertRaises(NotQuiet):
                await server.quiet(60, user="orch-testing")
            writing.cancel()
            await asyncio.wait([writing])
            with self.assertRaises(ConditionNotMet):
                await server.eventually("configmaps/none", 0.05)
            plain: Any = lambda read: True  # noqa: E731
            with self.assertRaises(TypeError):
                await server.eventually(plain)
            await server.reset()
            self.assertIsNone(await server.reader().get("configmaps/a"))

    async def _write(self, server: AsyncApiServer) -> None:
        for number in count():
            await server.request("POST", CONFIG_MAPS, config_map(f"w-{number}"))

    def test_all(self) -> None:
        """Every method is a coroutine that leaves the loop to others while it waits."""
        asyncio.run(self._all())

    async def _cancelled(self) -> None:
        async with AsyncApiServer() as server:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(server.eventually("configmaps/none"), 0.05)
            await server.reset()

    def test_cancelled(self) -> None:
        """A wait that is cancelled ends at once, and the server can be asked on."""
        asyncio.run(self._cancelled())

    async def _cancelled_often(self) -> None:
        async with AsyncApiServer() as server:
            for number in range(100):
                asking = asyncio.create_task(self._write(server))
                await asyncio.sleep(number / 10_000)
                asking.cancel()
                await asyncio.wait([asking])
                self.assertTrue(asking.cancelled())

    def test_cancelled_often(self) -> None:
        """A cancellation is not lost, whenever it comes."""
        asyncio.run(self._cancelled_often())

    def test_failed_start(self) -> None:
        """A start that fails raises StartFailed."""
        server = AsyncApiServer(flags=["--nonsense=1"])
        failed = self.assertRaises(StartFailed, asyncio.run, server.start())
        self.assertIn("--nonsense", str(failed))

    def test_loops(self) -> None:
        """A server serves one loop after the other, and leaves nothing behind of which Python would warn."""
        done = run_python("-X", "dev", "-W", "error", "-c", LOOPS, folder=self.mktemp())
        self.assertEqual((done.stdout, done.stderr), ("", ""))
