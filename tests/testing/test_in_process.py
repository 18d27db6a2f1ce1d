"""`InProcessServer`: requests and watches without a network."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.testing.in_process import InProcessServer
from orchtw.testing.in_process_watch import WatchEnded

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class WatchTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def test_events(self) -> None:
        """A watch begins with the existing objects and goes on with changes."""
        await self.server.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        watch = await self.server.watch(f"{CONFIG_MAPS}?watch=1")
        self.addCleanup(watch.close)
        await self.server.request("DELETE", f"{CONFIG_MAPS}/a")
        seen = [await watch.next(), await watch.next()]
        found = [(event["type"], event["object"]["metadata"]["name"]) for event in seen]
        self.assertEqual(found, [("ADDED", "a"), ("DELETED", "a")])

    async def test_ends(self) -> None:
        """A watch that timed out, and one that was left, report that to every reader."""
        ended = await self.server.watch(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
        left = await self.server.watch(f"{CONFIG_MAPS}?watch=1")
        left.close()
        left.close()
        for watch in (ended, left):
            for _ in range(2):
                with self.assertRaises(WatchEnded):
                    await watch.next()

    async def test_confusions(self) -> None:
        """A watch by `request`, and a refused one, raise errors that say what to do."""
        with self.assertRaises(ValueError) as caught:
            await self.server.request("GET", f"{CONFIG_MAPS}?watch=1")
        self.assertIn("InProcessServer.watch", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            await self.server.watch(f"{CONFIG_MAPS}?watch=1&labelSelector=%3D")
        self.assertIn("400", str(caught.exception))
